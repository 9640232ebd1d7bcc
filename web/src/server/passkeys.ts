import type * as wire from '../../../src/schemas/passkeys.ts';
import { createPasskey, signWithPasskey } from '../browser/passkeys.ts';
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
  const begun = await callApi<wire.BeginPasskeySignInResponse>(
    '/api/auth/passkey/begin',
    { redirect_url: redirect },
    publicCall,
  );
  const credential = await signWithPasskey(begun.options);
  if (credential === null) return null;
  return callApi('/api/auth/passkey/sign-in', { passkey_token: begun.passkey_token, credential }, publicCall);
}
