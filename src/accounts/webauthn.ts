import type { NewPasskeyCredential, PasskeyAssertion } from '../schemas/passkeys.ts';

/** Verification of WebAuthn replies. The library is loaded with the first reply: it takes up to 30 MB. */

/** COSE algorithms, the preferred one first: ES256, EdDSA, RS256. */
export const passkeyAlgorithms = [-7, -8, -257] as const;

/** Values that a reply must have signed. */
export interface ExpectedReply {
  /** In base64url. */
  readonly challenge: string;
  /** `https://host:port` of the page. */
  readonly origin: string;
  /** Host name. */
  readonly relyingPartyId: string;
}

interface VerifiedCredential {
  /** In base64url. */
  readonly credentialId: string;
  /** COSE key. */
  readonly publicKey: Uint8Array;
  readonly counter: number;
  readonly isSynced: boolean;
}

/**
 * Verifies the reply of a new authenticator, which must have verified its user. Throws an `Error` with the reason for an
 * invalid reply.
 */
export async function verifyNewCredential(
  sent: NewPasskeyCredential,
  { challenge, origin, relyingPartyId }: ExpectedReply,
): Promise<VerifiedCredential> {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response: {
      ...sent,
      clientExtensionResults: {},
      response: {
        clientDataJSON: sent.response.clientDataJSON,
        attestationObject: await withoutAttestation(sent.response.attestationObject),
      },
    },
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: relyingPartyId,
    requireUserVerification: true,
    supportedAlgorithmIDs: [...passkeyAlgorithms],
  });
  if (!verified) throw new Error('The attestation is wrong.');
  const { credential, credentialBackedUp } = registrationInfo;
  if (credential.id !== sent.id) throw new Error('The authenticator created a credential with another ID.');
  const { id, publicKey, counter } = credential;
  return { credentialId: id, publicKey, counter, isSynced: credentialBackedUp };
}

/**
 * Removes the statement about the model of the authenticator, which the server does not use. To verify it, the library
 * would fetch lists of revoked certificates from addresses in the statement.
 */
async function withoutAttestation(attestationObject: string): Promise<string> {
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await import('@simplewebauthn/server/helpers');
  const authenticatorData = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject)).get('authData');
  const plain = new Map<string | number, Parameters<typeof isoCBOR.encode>[0]>([
    ['fmt', 'none'],
    ['attStmt', new Map()],
    ['authData', authenticatorData],
  ]);
  return isoBase64URL.fromBuffer(isoCBOR.encode(plain));
}

/**
 * Verifies the signature of a known credential; the authenticator must have verified its user. Returns the signature
 * counter, which the caller compares with that of the last use. Throws an `Error` with the reason for an invalid reply.
 */
export async function verifyAssertion(
  { response: { userHandle: _, ...response }, ...sent }: PasskeyAssertion,
  publicKey: Uint8Array,
  { challenge, origin, relyingPartyId }: ExpectedReply,
): Promise<{ readonly counter: number; readonly isSynced: boolean }> {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: { ...sent, clientExtensionResults: {}, response },
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: relyingPartyId,
    requireUserVerification: true,
    // The library compares counters before it verifies the signature. A counter is evidence only if it is signed.
    credential: { id: sent.id, publicKey: new Uint8Array(publicKey), counter: 0 },
  });
  if (!verified) throw new Error('The signature is wrong.');
  const { newCounter, credentialBackedUp } = authenticationInfo;
  return { counter: newCounter, isSynced: credentialBackedUp };
}
