import { AppError } from '../core/app-error.ts';
import type { Random } from '../core/ids.ts';
import { passkeyLimits } from '../core/passkey-limits.ts';
import type { NewPasskeyCredential, PasskeyCreationOptions } from '../schemas/passkeys.ts';
import type { Passkey } from '../storage/passkeys.ts';
import type { User } from '../storage/users.ts';
import type { NewPasskey, PasskeyChallenge } from './passkeys.ts';
import type { RelyingParty } from './relying-party.ts';
import { passkeyAlgorithms, verifyNewCredential } from './webauthn.ts';

/** Passkey that an authenticator is to create. */
export interface PendingPasskey extends PasskeyChallenge {
  readonly userHandle: string;
  readonly party: RelyingParty;
}

const userHandleBytes = 32;

/** Returns random bytes in base64url by which authenticators recognize an account. */
export function createUserHandle(random: Random): string {
  return Buffer.from(random.bytes(userHandleBytes)).toString('base64url');
}

/** Builds the options for `navigator.credentials.create()`; `known`: passkeys that the user has. */
export function buildCreationOptions(
  { email, name }: Pick<User, 'email' | 'name'>,
  { challenge, userHandle, party }: PendingPasskey,
  known: readonly Passkey[],
): PasskeyCreationOptions {
  return {
    rp: { id: party.id, name: 'Quarry' },
    user: { id: userHandle, name: email, displayName: name ?? email },
    challenge,
    pubKeyCredParams: passkeyAlgorithms.map((alg) => ({ type: 'public-key', alg })),
    timeout: passkeyLimits.challengeMsMax,
    excludeCredentials: known
      .filter(({ relyingPartyId }) => relyingPartyId === party.id)
      .map(({ credentialId, transports }) => ({
        type: 'public-key',
        id: credentialId,
        transports: [...transports],
      })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    },
    attestation: 'none',
  };
}

/** Verifies the reply of the authenticator and returns its passkey. Errors: 400 with the reason for an invalid reply. */
export async function verifyPasskeyCreation(
  credential: NewPasskeyCredential,
  { challenge, userHandle, party }: PendingPasskey,
): Promise<Omit<NewPasskey, 'userId' | 'name'>> {
  const expected = { challenge, origin: party.origin, relyingPartyId: party.id };
  const verified = await verifyNewCredential(credential, expected).catch((error: unknown) => {
    throw new AppError('bad_request', `The reply of the authenticator is not valid: ${reasonOf(error)}`, {
      cause: error,
    });
  });
  const transports = credential.response.transports ?? [];
  return { ...verified, transports, relyingPartyId: party.id, userHandle };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
