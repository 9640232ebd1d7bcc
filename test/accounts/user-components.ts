import type { ClientInfo } from '../../src/accounts/client-info.ts';
import type { AppError } from '../../src/core/app-error.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import { accountComponents, testActor } from './account-components.ts';

/** User accounts on a store in memory. */

export const visitor: ClientInfo = {
  address: '192.0.2.1',
  userAgent: 'test',
  cookie: () => undefined,
  sessionToReplace: () => undefined,
  origin: () => 'http://127.0.0.1',
  bearer: undefined,
  isBrowser: false,
  wantsJson: true,
  idempotencyKey: undefined,
};

export function statusOf(promise: Promise<unknown>): Promise<number> {
  return promise.then(
    () => 200,
    (error: AppError) => error.status,
  );
}

export async function buildUsers() {
  const store = new MemoryStore();
  const clock = new FakeClock({ wall: Date.UTC(2026, 10, 21, 8) });
  const components = accountComponents(store, { clock });
  const signIn = async (email: string) => {
    const { user, result: created } = await components.userAccounts.signIn(
      { email },
      testActor,
      ({ userId }) => {
        const session = components.sessions.create(userId, visitor);
        return { operations: session.operations, result: session };
      },
    );
    return { ...user, token: created.token, session: created.session };
  };
  return { ...components, store, clock, signIn };
}
