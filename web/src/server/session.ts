import { computed, signal } from '@preact/signals';
import type { GetUserResponse, OrganizationOfUser } from '../../../src/schemas/accounts.ts';
import { kept } from '../browser/kept.ts';
import { CallError, call, onSessionEnd } from './call.ts';

/** Who is signed in, and in which organisation they work. */

export type Session =
  | { readonly state: 'unknown' }
  | { readonly state: 'out' }
  | { readonly state: 'in'; readonly who: GetUserResponse };

export const session = signal<Session>({ state: 'unknown' });
/** True while the session has ended in the middle of the work and somebody has to sign in again. */
export const hasEnded = signal(false);
const chosen = kept('organization');

export const organizations = computed<readonly OrganizationOfUser[]>(() =>
  session.value.state === 'in' ? session.value.who.organizations : [],
);

/** The organisation that the pages show: the chosen one, else the first; null for somebody who belongs to none. */
export const organization = computed<OrganizationOfUser | null>(() => {
  const all = organizations.value;
  return all.find(({ organization_id: id }) => id === chosen.value) ?? all[0] ?? null;
});

export function chooseOrganization(organizationId: string): void {
  chosen.value = organizationId;
}

/** The id of the organisation that a page works in; pages of an organisation are shown only when there is one. */
export function organizationId(): string {
  return organization.value?.organization_id ?? '';
}

/** Reads who is signed in. Errors: `CallError` when the server does not say. */
export async function loadSession(): Promise<void> {
  try {
    const who = await call<GetUserResponse>('/api/users/get-user', {}, { as: 'anybody' });
    session.value = { state: 'in', who };
  } catch (error) {
    if (!(error instanceof CallError) || error.status !== 401) throw error;
    session.value = { state: 'out' };
  }
}

export async function signOut(): Promise<void> {
  await call('/api/auth/logout', {}, { as: 'anybody' });
  session.value = { state: 'out' };
}

let waiting: PromiseWithResolvers<void> | null = null;

/** Every call that meets the end of the session waits here for the same sign-in. */
function signedInAgain(): Promise<void> {
  if (session.peek().state !== 'in') return Promise.reject(new CallError('Sign in first.', { status: 401 }));
  waiting ??= Promise.withResolvers<void>();
  hasEnded.value = true;
  return waiting.promise;
}

/**
 * Looks whether somebody signed in meanwhile, perhaps in another tab. The same person goes on where they were; for
 * another one the dashboard starts anew, because what is on the screen is not theirs.
 */
export async function lookForSession(): Promise<boolean> {
  const before = session.peek();
  const who = await call<GetUserResponse>('/api/users/get-user', {}, { as: 'anybody' }).catch(
    (error: unknown) => {
      if (error instanceof CallError) return null;
      throw error;
    },
  );
  if (who === null) return false;
  if (before.state === 'in' && before.who.user.id !== who.user.id) {
    window.location.assign('/app/');
    return false;
  }
  session.value = { state: 'in', who };
  hasEnded.value = false;
  waiting?.resolve();
  waiting = null;
  return true;
}

onSessionEnd(signedInAgain);
