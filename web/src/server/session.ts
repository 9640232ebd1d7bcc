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
const chosen = kept('organization', 'tab');

export const organizations = computed<readonly OrganizationOfUser[]>(() =>
  session.value.state === 'in' ? session.value.who.organizations : [],
);

/** The organisation that the pages show: the chosen one, else the first; null for somebody who belongs to none. */
export const organization = computed<OrganizationOfUser | null>(() => {
  const all = organizations.value;
  return all.find(({ organization_id: id }) => id === chosen.value) ?? all[0] ?? null;
});

/** Whether this server takes payments. */
export const billingIsOn = computed(() => session.value.state === 'in' && session.value.who.billing_enabled);

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
    enter(await call<GetUserResponse>('/api/users/get-user', {}, { as: 'anybody' }));
  } catch (error) {
    if (!(error instanceof CallError) || error.status !== 401) throw error;
    signedOut();
  }
}

export async function signOut(): Promise<void> {
  await call('/api/auth/logout', {}, { as: 'anybody' });
  leave();
}

/** The tabs of this browser share one session. Each tells the others who came in, by their id, or that nobody is in. */
const tabs = new BroadcastChannel('quarry.session');
const signInFirst = 'Sign in first.';
let waiting: PromiseWithResolvers<void> | null = null;
/** Whoever was signed in here last. What this tab holds, until it is loaded anew, is theirs. */
let owner: string | null = null;

/** False for somebody else than before: the dashboard starts anew, because what is on the screen is not theirs. */
function enter(who: GetUserResponse): boolean {
  if (owner !== null && owner !== who.user.id) {
    window.location.assign('/app/');
    return false;
  }
  const isNew = session.peek().state !== 'in' || hasEnded.peek();
  owner = who.user.id;
  session.value = { state: 'in', who };
  // Another tab may choose another one meanwhile: this one stays where it is, also when it is loaded anew.
  chosen.value = organization.peek()?.organization_id ?? null;
  hasEnded.value = false;
  waiting?.resolve();
  waiting = null;
  if (isNew) tabs.postMessage(owner);
  return true;
}

/** Somebody ended the session on purpose: nothing of theirs stays on the screen, in no tab. */
export function leave(): void {
  tabs.postMessage(null);
  signedOut();
}

function signedOut(): void {
  session.value = { state: 'out' };
  hasEnded.value = false;
  waiting?.reject(new CallError(signInFirst, { status: 401 }));
  waiting = null;
}

tabs.onmessage = ({ data }: MessageEvent<string | null>) => {
  if (data === null) return signedOut();
  if (data === owner && session.peek().state === 'in' && !hasEnded.peek()) return;
  loadSession().catch(() => {}); // without an answer this tab asks again when it is looked at
};

/** Every call that meets the end of the session waits here for the same sign-in. */
function signedInAgain(): Promise<void> {
  if (session.peek().state !== 'in') return Promise.reject(new CallError(signInFirst, { status: 401 }));
  waiting ??= Promise.withResolvers<void>();
  hasEnded.value = true;
  return waiting.promise;
}

/** Looks whether the same person signed in again meanwhile, perhaps in another tab; then they go on where they were. */
export async function lookForSession(): Promise<boolean> {
  const who = await call<GetUserResponse>('/api/users/get-user', {}, { as: 'anybody' }).catch(
    (error: unknown) => {
      if (error instanceof CallError) return null;
      throw error;
    },
  );
  return who !== null && enter(who);
}

onSessionEnd(signedInAgain);
