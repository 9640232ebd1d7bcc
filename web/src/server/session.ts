import { computed, signal } from '@preact/signals';
import type { GetUserResponse, OrganizationOfUser } from '../../../src/schemas/accounts.ts';
import { persistedSignal } from '../browser/persisted-signal.ts';
import { ApiError, callApi, onSessionEnd } from './api-call.ts';

/** Who is signed in, and in which organisation they work. */

export type SessionState =
  | { readonly state: 'unknown' }
  | { readonly state: 'out' }
  | { readonly state: 'in'; readonly account: GetUserResponse };

export const session = signal<SessionState>({ state: 'unknown' });
/** True while the session has ended in the middle of the work and somebody has to sign in again. */
export const hasSessionEnded = signal(false);
const chosenOrganizationId = persistedSignal('organization', 'tab');

export const organizations = computed<readonly OrganizationOfUser[]>(() =>
  session.value.state === 'in' ? session.value.account.organizations : [],
);

/** The organisation that the pages show: the chosen one, else the first; null for somebody who belongs to none. */
export const organization = computed<OrganizationOfUser | null>(() => {
  const all = organizations.value;
  return all.find(({ organization_id: id }) => id === chosenOrganizationId.value) ?? all[0] ?? null;
});

/** Whether this server takes payments. */
export const isBillingEnabled = computed(
  () => session.value.state === 'in' && session.value.account.billing_enabled,
);

export function selectOrganization(organizationId: string): void {
  chosenOrganizationId.value = organizationId;
}

/** The id of the organisation that a page works in; pages of an organisation are shown only when there is one. */
export function organizationId(): string {
  return organization.value?.organization_id ?? '';
}

/** Reads who is signed in. Errors: `CallError` when the server does not say. */
export async function loadSession(): Promise<void> {
  try {
    applyAccount(await callApi<GetUserResponse>('/api/users/get-user', {}, { as: 'anybody' }));
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    setSignedOut();
  }
}

export async function signOut(): Promise<void> {
  await callApi('/api/auth/logout', {}, { as: 'anybody' });
  endSession();
}

/** The tabs of this browser share one session. Each tells the others who came in, by their id, or that nobody is in. */
const sessionChannel = new BroadcastChannel('quarry.session');
const signInFirstMessage = 'Sign in first.';
let pendingSignIn: PromiseWithResolvers<void> | null = null;
/** Whoever was signed in here last. What this tab holds, until it is loaded anew, is theirs. */
let currentUserId: string | null = null;

/** False for somebody else than before: the dashboard starts anew, because what is on the screen is not theirs. */
function applyAccount(account: GetUserResponse): boolean {
  if (currentUserId !== null && currentUserId !== account.user.id) {
    window.location.assign('/app/');
    return false;
  }
  const isNew = session.peek().state !== 'in' || hasSessionEnded.peek();
  currentUserId = account.user.id;
  session.value = { state: 'in', account };
  // Another tab may choose another one meanwhile: this one stays where it is, also when it is loaded anew.
  chosenOrganizationId.value = organization.peek()?.organization_id ?? null;
  hasSessionEnded.value = false;
  pendingSignIn?.resolve();
  pendingSignIn = null;
  if (isNew) sessionChannel.postMessage(currentUserId);
  return true;
}

/** Somebody ended the session on purpose: nothing of theirs stays on the screen, in no tab. */
export function endSession(): void {
  sessionChannel.postMessage(null);
  setSignedOut();
}

function setSignedOut(): void {
  session.value = { state: 'out' };
  hasSessionEnded.value = false;
  pendingSignIn?.reject(new ApiError(signInFirstMessage, { status: 401 }));
  pendingSignIn = null;
}

sessionChannel.onmessage = ({ data }: MessageEvent<string | null>) => {
  if (data === null) return setSignedOut();
  if (data === currentUserId && session.peek().state === 'in' && !hasSessionEnded.peek()) return;
  loadSession().catch(() => {}); // without an answer this tab asks again when it is looked at
};

/** Every call that meets the end of the session waits here for the same sign-in. */
function waitForSignIn(): Promise<void> {
  if (session.peek().state !== 'in') return Promise.reject(new ApiError(signInFirstMessage, { status: 401 }));
  pendingSignIn ??= Promise.withResolvers<void>();
  hasSessionEnded.value = true;
  return pendingSignIn.promise;
}

/** Looks whether the same person signed in again meanwhile, perhaps in another tab; then they go on where they were. */
export async function refreshSession(): Promise<boolean> {
  const account = await callApi<GetUserResponse>('/api/users/get-user', {}, { as: 'anybody' }).catch(
    (error: unknown) => {
      if (error instanceof ApiError) return null;
      throw error;
    },
  );
  return account !== null && applyAccount(account);
}

onSessionEnd(waitForSignIn);
