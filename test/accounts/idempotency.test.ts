import { Idempotency } from '../../src/accounts/idempotency.ts';
import type { UserCall } from '../../src/accounts/user-operations.ts';
import { AppError } from '../../src/core/app-error.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { limits } from '../../src/core/limits.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import t, { type Test } from '../support/tap.ts';

const ada = '11111111-1111-4111-8111-111111111111';
const bob = '22222222-2222-4222-8222-222222222222';

function callOf(idempotencyKey: string | undefined, { userId = ada, operation = 'add' } = {}): UserCall {
  return {
    operation,
    name: operation,
    principal: {
      kind: 'user',
      userId,
      sessionId: userId,
      email: 'ada@example.com',
    } as UserCall['principal'],
    client: { address: '192.0.2.1', idempotencyKey } as UserCall['client'],
  };
}

function build({ callsPerPersonMax = 100 } = {}) {
  const store = new MemoryStore();
  const clock = new FakeClock();
  const open = () =>
    new Idempotency({
      store,
      clock,
      random: systemRandom,
      secrets: [new Uint8Array(32).fill(1)],
      callsPerUserMax: callsPerPersonMax,
    });
  let done = 0;
  /** Work that returns a secret. */
  const work = async () => {
    done += 1;
    return { api_key: `ze_secret${done}` };
  };
  return { store, clock, open, idempotency: open(), work, done: () => done };
}

t.test(
  'a repeated request with the same key runs once and gets the same reply, also after a restart',
  async (t) => {
    const { idempotency, open, work, done } = build();
    const first = await idempotency.runOnce(callOf('k'), { name: 'a' }, { work });
    t.same(await idempotency.runOnce(callOf('k'), { name: 'a' }, { work }), first);
    t.same(await open().runOnce(callOf('k'), { name: 'a' }, { work }), first);
    t.equal(done(), 1);
  },
);

t.test('a key applies to one user and one operation; requests without a key always run', async (t) => {
  const { idempotency, work, done } = build();
  const calls = [callOf('k'), callOf('k', { userId: bob }), callOf('k', { operation: 'other' }), callOf('K')];
  for (const call of [...calls, callOf(undefined), callOf(undefined)])
    await idempotency.runOnce(call, {}, { work });
  t.equal(done(), 6);
});

t.test('a different request with a used key is rejected and does not run', async (t) => {
  const { idempotency, work, done } = build();
  await idempotency.runOnce(callOf('k'), { name: 'a' }, { work });
  await rejectedWith(t, idempotency.runOnce(callOf('k'), { name: 'b' }, { work }), 409, /different request/);
  t.equal(done(), 1);
});

t.test('of concurrent requests with one key, one runs and the others are rejected', async (t) => {
  const { idempotency, work, done } = build();
  const attempts = Array.from({ length: 20 }, () => idempotency.runOnce(callOf('k'), {}, { work }));
  const settled = await Promise.allSettled(attempts);
  t.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const one of settled)
    if (one.status === 'rejected') t.match(one.reason, { status: 409, message: /still in progress/ });
  t.equal(done(), 1);
});

t.test('a rejected request can be retried; a failed or interrupted one has an unknown outcome', async (t) => {
  const { idempotency, open, work, done } = build();
  const refuse = (): Promise<never> => Promise.reject(new AppError('forbidden', 'No.'));
  await rejectedWith(t, idempotency.runOnce(callOf('refused'), {}, { work: refuse }), 403);
  await idempotency.runOnce(callOf('refused'), {}, { work });
  t.equal(done(), 1);

  const crash = (): Promise<never> => Promise.reject(new Error('the disk is unavailable'));
  await t.rejects(
    idempotency.runOnce(callOf('broken'), {}, { work: crash }),
    new Error('the disk is unavailable'),
  );
  await rejectedWith(t, idempotency.runOnce(callOf('broken'), {}, { work }), 409, /was interrupted/);

  await new Promise<void>((begun) => {
    const endless = () => {
      begun();
      return new Promise(() => {});
    };
    void idempotency.runOnce(callOf('interrupted'), {}, { work: endless });
  });
  await rejectedWith(t, open().runOnce(callOf('interrupted'), {}, { work }), 409, /was interrupted/);
  t.equal(done(), 1, 'the change does not run again');
});

t.test('after a day a key can be reused and its reply is deleted', async (t) => {
  const { idempotency, store, clock, work, done } = build();
  await idempotency.runOnce(callOf('k'), {}, { work });
  await clock.advance(limits.idempotencyKeyMsMax - 1);
  await idempotency.sweep();
  await idempotency.runOnce(callOf('k'), {}, { work });
  t.equal(done(), 1);
  await clock.advance(1);
  await idempotency.runOnce(callOf('k'), {}, { work });
  t.equal(done(), 2);
  await clock.advance(limits.idempotencyKeyMsMax);
  await idempotency.sweep();
  t.same(await rowsOf(store), []);
});

t.test('a reply and the key that opens it are stored sealed', async (t) => {
  const { idempotency, store, work } = build();
  await idempotency.runOnce(callOf('the-key-of-the-client'), { name: 'a' }, { work });
  const rows = await rowsOf(store);
  t.equal(rows.length, 1);
  t.notMatch(rows.join(), /ze_secret|the-key-of-the-client/);
});

t.test('invalid keys get 400, too many keys 429', async (t) => {
  const { idempotency, work, done } = build({ callsPerPersonMax: 3 });
  for (const key of ['', 'é', 'x'.repeat(256), 'a\n'])
    await rejectedWith(t, idempotency.runOnce(callOf(key), {}, { work }), 400);
  for (const key of ['1', '2', 'x'.repeat(255)]) await idempotency.runOnce(callOf(key), {}, { work });
  await rejectedWith(t, idempotency.runOnce(callOf('4'), {}, { work }), 429);
  await idempotency.runOnce(callOf('4', { userId: bob }), {}, { work });
  t.equal(done(), 4);
});

async function rejectedWith(t: Test, call: Promise<unknown>, status: number, message = /./): Promise<void> {
  const error = await call.then(
    () => null,
    (reason: AppError) => reason,
  );
  t.match(error, { status, message });
}

async function rowsOf(store: MemoryStore): Promise<string[]> {
  const rows: string[] = [];
  for await (const { key, value } of store.range({ gte: Uint8Array.of(1) }))
    rows.push(`${Buffer.from(key).toString('latin1')} ${Buffer.from(value).toString('latin1')}`);
  return rows;
}

t.test(
  'a reply survives a rotation of the secret, and is reported as lost once the previous secret is removed',
  async (t) => {
    const { store, clock, idempotency, work, done } = build();
    const first = await idempotency.runOnce(callOf('k'), {}, { work });
    const [current, earlier] = [new Uint8Array(32).fill(2), new Uint8Array(32).fill(1)];
    const withSecrets = (secrets: Uint8Array[]) =>
      new Idempotency({ store, clock, random: systemRandom, secrets });
    t.same(await withSecrets([current, earlier]).runOnce(callOf('k'), {}, { work }), first);
    await rejectedWith(
      t,
      withSecrets([current]).runOnce(callOf('k'), {}, { work }),
      409,
      /was applied, but its reply can no longer be read/,
    );
    t.equal(done(), 1, 'the change does not run again');
  },
);

t.test(
  'a reply with a secret is not stored: the repeated request is rejected and does not run again',
  async (t) => {
    const { idempotency, open, work, done } = build();
    const withheld = ({ api_key }: { api_key: string }) => (api_key === 'ze_secret1' ? 'Shown once.' : null);
    t.same(await idempotency.runOnce(callOf('k'), {}, { work, withheldReason: withheld }), {
      api_key: 'ze_secret1',
    });
    await rejectedWith(
      t,
      idempotency.runOnce(callOf('k'), {}, { work, withheldReason: withheld }),
      409,
      /^Shown once\.$/,
    );
    await rejectedWith(
      t,
      open().runOnce(callOf('k'), {}, { work, withheldReason: withheld }),
      409,
      /^Shown once\.$/,
    );
    t.equal(done(), 1);
  },
);
