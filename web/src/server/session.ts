import { computed, signal } from '@preact/signals';
import type { GetUserResponse, OrganizationOfUser } from '../../../src/schemas/accounts.ts';
import { removeHistories } from '../browser/history-storage.ts';
import { persistedSignal } from '../browser/persisted-signal.ts';
import { texts } from '../texts/en/server.ts';
import { ApiError, callApi, onSessionEnd } from './api-call.ts';

/** The signed-in user and the selected organization. */

export type SessionState =
  | { readonly state: 'unknown' }
  | { readonly state: 'out' }
  | { readonly state: 'in'; readonly account: GetUserResponse };

export const session = signal<SessionState>({ state: 'unknown' });
/** Whether the session has ended during use and the user must sign in again. */
export const hasSessionEnded = signal(false);
const chosenOrganizationId = persistedSignal('organization', 'tab');

export const organizations = computed<readonly OrganizationOfUser[]>(() =>
  session.value.state === 'in' ? session.value.account.organizations : [],
);

/** Organization that the pages show: the selected one, else the first; null if the user belongs to none. */
export const organization = computed<OrganizationOfUser | null>(() => {
  const all = organizations.value;
  return all.find(({ organization_id: id }) => id === chosenOrganizationId.value) ?? all[0] ?? null;
});

/** Whether payments are enabled on this server. */
export const isBillingEnabled = computed(
  () => session.value.state === 'in' && session.value.account.billing_enabled,
);

export function selectOrganization(organizationId: string): void {
  chosenOrganizationId.value = organizationId;
}

/** Id of the organization that a page works in. Pages of an organization are shown only if one exists. */
export function organizationId(): string {
  return organization.value?.organization_id ?? '';
}

/** Loads the signed-in user. Errors: `ApiError` if the server gives no answer. */
export async function loadSession(): Promise<void> {
  try {
    applyAccount(await callApi<GetUserResponse>('/api/users/get-user', {}, { as: 'public' }));
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    setSignedOut();
  }
}

export async function signOut(): Promise<void> {
  await callApi('/api/auth/logout', {}, { as: 'public' });
  endSession();
}

/**
 * All tabs of this browser share one session. A tab broadcasts the user id after a sign-in, or null after a sign-out.
 */
const sessionChannel = new BroadcastChannel('quarry.session');
let pendingSignIn: PromiseWithResolvers<void> | null = null;
/** User who was last signed in in this tab. Until a reload, the content of the tab belongs to this user. */
let currentUserId: string | null = null;

/**
 * Returns false if another user signed in: the dashboard reloads, because its content belongs to the previous user.
 */
function applyAccount(account: GetUserResponse): boolean {
  if (currentUserId !== null && currentUserId !== account.user.id) {
    window.location.assign('/app/');
    return false;
  }
  const isNew = session.peek().state !== 'in' || hasSessionEnded.peek();
  currentUserId = account.user.id;
  session.value = { state: 'in', account };
  // Pin the organization: another tab may select a different one, and this tab must keep its own even after a reload.
  chosenOrganizationId.value = organization.peek()?.organization_id ?? null;
  hasSessionEnded.value = false;
  pendingSignIn?.resolve();
  pendingSignIn = null;
  if (isNew) sessionChannel.postMessage(currentUserId);
  return true;
}

/** Ends the session on sign-out: all tabs clear the user's content. */
export function endSession(): void {
  sessionChannel.postMessage(null);
  setSignedOut();
}

function setSignedOut(): void {
  removeHistories();
  session.value = { state: 'out' };
  hasSessionEnded.value = false;
  pendingSignIn?.reject(new ApiError(texts.signInToContinue, { status: 401 }));
  pendingSignIn = null;
}

sessionChannel.onmessage = ({ data }: MessageEvent<string | null>) => {
  if (data === null) return setSignedOut();
  if (data === currentUserId && session.peek().state === 'in' && !hasSessionEnded.peek()) return;
  loadSession().catch(() => {}); // without a reply, this tab checks again when it becomes visible
};

/** All calls that fail because the session ended wait here for the same sign-in. */
function waitForSignIn(): Promise<void> {
  if (session.peek().state !== 'in')
    return Promise.reject(new ApiError(texts.signInToContinue, { status: 401 }));
  pendingSignIn ??= Promise.withResolvers<void>();
  hasSessionEnded.value = true;
  return pendingSignIn.promise;
}

/** Checks whether the same user has signed in again, possibly in another tab; then pending calls continue. */
export async function refreshSession(): Promise<boolean> {
  const account = await callApi<GetUserResponse>('/api/users/get-user', {}, { as: 'public' }).catch(
    (error: unknown) => {
      if (error instanceof ApiError) return null;
      throw error;
    },
  );
  return account !== null && applyAccount(account);
}

onSessionEnd(waitForSignIn);
