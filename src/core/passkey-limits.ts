/** Bounds of passkeys. */
export const passkeyLimits = {
  perUserMax: 20,
  /** Defined by WebAuthn. */
  credentialIdBytesMax: 1_023,
  challengeMsMax: 5 * 60_000,
  /** Maximum age of a session that may add a passkey. */
  recentSignInMsMax: 15 * 60_000,
} as const;
