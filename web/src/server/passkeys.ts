import type * as wire from '../../../src/schemas/passkeys.ts';
import { autofillPasskey, createPasskey, signWithPasskey } from '../browser/passkeys.ts';
import { callApi } from './api-call.ts';

/** Operations on passkeys. */

/** A 401 is a regular error here: it does not mean that the user's session has ended. */
const publicCall = { as: 'public' } as const;

export function listPasskeys(signal: AbortSignal): Promise<wire.ListPasskeysResponse> {
  return callApi('/api/users/list-passkeys', {}, { signal });
}

/** Returns null if the user cancels in the browser. */
export async function addPasskey(name: string): Promise<wire.PasskeyResponse | null> {
  const { options, passkey_token } = await callApi<wire.BeginPasskeyResponse>('/api/users/begin-passkey');
  const credential = await createPasskey(options);
  if (credential === null) return null;
  return callApi('/api/users/add-passkey', { passkey_token, credential, name });
}

export function renamePasskey(id: string, name: string): Promise<wire.PasskeyResponse> {
  return callApi('/api/users/update-passkey', { passkey_id: id, name });
}

export function deletePasskey(id: string): Promise<unknown> {
  return callApi('/api/users/delete-passkey', { passkey_id: id });
}

/** Returns null if the user cancels in the browser. */
export async function signInWithPasskey(redirect: string): Promise<wire.PasskeySignInResponse | null> {
  const { options, passkey_token } = await beginSignIn(redirect);
  const credential = await signWithPasskey(options);
  return credential === null ? null : finishSignIn({ passkey_token, credential });
}

/**
 * Offers passkeys in the autofill of the page and signs in with the chosen one. Returns null when `signal` or another
 * request for a passkey ends the offer, or after the time limit of the challenge.
 */
export async function signInWithAutofill(
  redirect: string,
  signal: AbortSignal,
): Promise<wire.PasskeySignInResponse | null> {
  // The user did not ask for this request, and the button shows why passkeys are not available.
  const begun = await beginSignIn(redirect, signal).catch(() => null);
  if (begun === null) return null;
  const credential = await autofillPasskey(begun.options, signal);
  return credential === null ? null : finishSignIn({ passkey_token: begun.passkey_token, credential });
}

function beginSignIn(redirect: string, signal?: AbortSignal): Promise<wire.BeginPasskeySignInResponse> {
  return callApi('/api/auth/passkey/begin', { redirect_url: redirect }, { ...publicCall, signal });
}

function finishSignIn(request: wire.PasskeySignInRequest): Promise<wire.PasskeySignInResponse> {
  return callApi('/api/auth/passkey/sign-in', request, publicCall);
}

/** Creates the account of an invited user, who is then signed in. Returns null if the user cancels in the browser. */
export async function joinWithPasskey(
  code: string,
  name: string,
): Promise<wire.PasskeySignInResponse | null> {
  const { options, passkey_token } = await callApi<wire.BeginPasskeyResponse>(
    '/api/auth/passkey/begin-join',
    { invite_code: code, name },
    publicCall,
  );
  const credential = await createPasskey(options);
  if (credential === null) return null;
  return callApi('/api/auth/passkey/join', { passkey_token, credential }, publicCall);
}
