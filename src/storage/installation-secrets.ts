import { createHmac, timingSafeEqual } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** File in the data directory with the secrets of the installation, readable by the operator only. */
export const secretsFile = 'secrets.json';
const secretBytes = 32;

/** 32 random bytes each. */
export interface InstallationSecrets {
  /** The current secret, then those replaced by rotations, newest first. */
  readonly secrets: readonly Uint8Array[];
  /**
   * Secrets that are no longer accepted. The next start encrypts their data with the current secret, and removes them from
   * the file.
   */
  readonly retired: readonly Uint8Array[];
}

/** Purpose of a key derived from a secret of the installation; each purpose has its own key. */
export type SecretPurpose =
  | 'operator'
  | 'invitations'
  | 'sign-in'
  | 'replies'
  | 'marketplaces'
  | 'second-factors'
  | 'changes'
  | 'webhooks'
  | 'sources'
  | 'history'
  | 'store';

/** Derives a 256-bit key for one purpose, so that a signature for one purpose is invalid for any other. */
function deriveSecret(secret: Uint8Array, purpose: SecretPurpose): Uint8Array {
  return createHmac('sha256', secret).update(`quarry ${purpose}`).digest();
}

/** Derives the key of each secret for one purpose, that of the current secret first. */
export function deriveSecrets(secrets: readonly Uint8Array[], purpose: SecretPurpose): readonly Uint8Array[] {
  return secrets.map((secret) => deriveSecret(secret, purpose));
}

/** Returns proof of read access to the data directory: base64url of the secret derived for this purpose. */
export function createOperatorProof(secret: Uint8Array): string {
  return Buffer.from(deriveSecret(secret, 'operator')).toString('base64url');
}

/** Accepts a proof of the current secret only: a rotation revokes proofs made with earlier secrets. */
export function isOperatorProof(proof: string, secrets: readonly Uint8Array[]): boolean {
  const expected = Buffer.from(createOperatorProof(secrets[0]!));
  const actual = Buffer.from(proof);
  return actual.byteLength === expected.byteLength && timingSafeEqual(actual, expected);
}

/**
 * Reads the secrets of the installation in `folder`. Throws file system errors, and an error for a damaged
 * file.
 */
export function readInstallationSecrets(folder: string): InstallationSecrets {
  const secrets = parseSecrets(readFileSync(join(folder, secretsFile), 'utf8'));
  if (secrets === null) throw new Error(`${secretsFile} is damaged`);
  return secrets;
}

/** Replaces the file atomically. Throws file system errors. */
export function writeInstallationSecrets(folder: string, secrets: InstallationSecrets): void {
  const path = join(folder, secretsFile);
  const file = openSync(`${path}.new`, 'w', 0o600);
  try {
    writeSync(file, serializeSecrets(secrets));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(`${path}.new`, path);
}

/** Returns null for a damaged file. */
export function parseSecrets(text: string): InstallationSecrets | null {
  try {
    const { secret, earlier = [], retired = [] } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if (!Array.isArray(earlier) || !Array.isArray(retired)) return null;
    const secrets = decodeSecrets([secret, ...earlier]);
    const retiredSecrets = decodeSecrets(retired);
    return secrets === null || retiredSecrets === null ? null : { secrets, retired: retiredSecrets };
  } catch {
    return null;
  }
}

function decodeSecrets(texts: readonly unknown[]): readonly Uint8Array[] | null {
  const secrets = texts.map((text) =>
    typeof text === 'string' ? Buffer.from(text, 'base64url') : Buffer.alloc(0),
  );
  return secrets.every(({ byteLength }) => byteLength === secretBytes) ? secrets : null;
}

export function serializeSecrets({ secrets, retired }: InstallationSecrets): string {
  const encode = (list: readonly Uint8Array[]) => list.map((each) => Buffer.from(each).toString('base64url'));
  const [secret, ...earlier] = encode(secrets);
  const file = {
    secret,
    ...(earlier.length === 0 ? {} : { earlier }),
    ...(retired.length === 0 ? {} : { retired: encode(retired) }),
  };
  return `${JSON.stringify(file)}\n`;
}
