import type {
  NewPasskeyCredential,
  PasskeyAssertion,
  PasskeyCreationOptions,
  PasskeyRequestOptions,
} from '../../../src/schemas/passkeys.ts';
import { texts } from '../texts/en/server.ts';

/**
 * Passkeys of the browser (WebAuthn), with binary fields in base64url as the server has them. Browsers before 2025 lack
 * `PublicKeyCredential.toJSON`.
 */

/** Whether the browser has passkeys at the address of this page. */
export const hasPasskeys = 'PublicKeyCredential' in window;

/** Offer in the autofill; a browser runs one request for a passkey at a time, so others end it. */
let autofill: AbortController | null = null;

/** Returns null if the user cancels. Errors: `DOMException`. */
export async function createPasskey(options: PasskeyCreationOptions): Promise<NewPasskeyCredential | null> {
  autofill?.abort();
  const credential = await ignoreCancel(
    createCredential({
      publicKey: {
        ...options,
        challenge: toBytes(options.challenge),
        user: { ...options.user, id: toBytes(options.user.id) },
        excludeCredentials: options.excludeCredentials.map(({ id, type, transports }) => ({
          id: toBytes(id),
          type,
          transports: transports as AuthenticatorTransport[],
        })),
      },
    }),
  );
  if (credential === null) return null;
  const response = credential.response as AuthenticatorAttestationResponse;
  return {
    ...idsOf(credential),
    response: {
      clientDataJSON: toText(response.clientDataJSON),
      attestationObject: toText(response.attestationObject),
      transports: response.getTransports(),
    },
  };
}

/** Returns null if the user cancels. Errors: `DOMException`. */
export async function signWithPasskey(options: PasskeyRequestOptions): Promise<PasskeyAssertion | null> {
  autofill?.abort();
  return getAssertion(navigator.credentials.get({ publicKey: toPublicKey(options) }));
}

/** Whether the browser can offer passkeys in the autofill of fields with `autocomplete="webauthn"`. */
export async function hasAutofill(): Promise<boolean> {
  return hasPasskeys && (await PublicKeyCredential.isConditionalMediationAvailable?.()) === true;
}

/**
 * Offers passkeys in the autofill until the user chooses one. Returns null when `signal` or another request ends the offer,
 * or after the time limit of the options. Errors: `DOMException`.
 */
export async function autofillPasskey(
  options: PasskeyRequestOptions,
  signal: AbortSignal,
): Promise<PasskeyAssertion | null> {
  if (signal.aborted) return null;
  autofill?.abort();
  const controller = new AbortController();
  autofill = controller;
  const end = () => controller.abort();
  signal.addEventListener('abort', end);
  // Browsers ignore the time limit of the options in the autofill.
  const timer = setTimeout(end, options.timeout);
  try {
    return await getAssertion(
      navigator.credentials.get({
        publicKey: toPublicKey(options),
        mediation: 'conditional',
        signal: controller.signal,
      }),
    );
  } catch (error) {
    if (controller.signal.aborted) return null;
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    if (autofill === controller) autofill = null;
  }
}

function toPublicKey(options: PasskeyRequestOptions): PublicKeyCredentialRequestOptions {
  return { ...options, challenge: toBytes(options.challenge) };
}

async function getAssertion(request: Promise<Credential | null>): Promise<PasskeyAssertion | null> {
  const credential = await ignoreCancel(request);
  if (credential === null) return null;
  const response = credential.response as AuthenticatorAssertionResponse;
  return {
    ...idsOf(credential),
    response: {
      clientDataJSON: toText(response.clientDataJSON),
      authenticatorData: toText(response.authenticatorData),
      signature: toText(response.signature),
      userHandle: response.userHandle === null ? null : toText(response.userHandle),
    },
  };
}

/** Errors: `Error` with a message for the user if the authenticator has a passkey of the account. */
async function createCredential(options: CredentialCreationOptions): Promise<Credential | null> {
  try {
    return await navigator.credentials.create(options);
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'InvalidStateError')) throw error;
    throw new Error(texts.thisDeviceAlreadyHasA, { cause: error });
  }
}

/** A browser reports a canceled dialog, and one that has timed out, as `NotAllowedError`. */
async function ignoreCancel(work: Promise<Credential | null>): Promise<PublicKeyCredential | null> {
  try {
    return (await work) as PublicKeyCredential | null;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'NotAllowedError') return null;
    throw error;
  }
}

function idsOf({ rawId }: PublicKeyCredential) {
  const id = toText(rawId);
  return { id, rawId: id, type: 'public-key' } as const;
}

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  const base64 = text.replaceAll('-', '+').replaceAll('_', '/');
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

function toText(bytes: ArrayBuffer): string {
  const base64 = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}
