import { createHmac, timingSafeEqual } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** The file in the data directory that holds the installation's secrets, readable by the operator alone. */
export const secretsFile = 'secrets.json';
const secretBytes = 32;

/** What a key that is derived from a secret of the installation is for; each use gets its own. */
export type SecretPurpose =
  | 'operator'
  | 'invitations'
  | 'sign-in'
  | 'replies'
  | 'marketplaces'
  | 'second-factors';

/** 256 bits for one use, so that what is signed for one use is worth nothing in another. */
function deriveSecret(secret: Uint8Array, purpose: SecretPurpose): Uint8Array {
  return createHmac('sha256', secret).update(`quarry ${purpose}`).digest();
}

/** The key of each secret for one use, that of the current secret first. */
export function deriveSecrets(secrets: readonly Uint8Array[], purpose: SecretPurpose): readonly Uint8Array[] {
  return secrets.map((secret) => deriveSecret(secret, purpose));
}

/** Shows that somebody can read the data directory: base64url of the secret for that use. */
export function createOperatorProof(secret: Uint8Array): string {
  return Buffer.from(deriveSecret(secret, 'operator')).toString('base64url');
}

/** Only of the current secret: a rotation takes this power from whoever read an earlier one. */
export function isOperatorProof(proof: string, secrets: readonly Uint8Array[]): boolean {
  const expected = Buffer.from(createOperatorProof(secrets[0]!));
  const actual = Buffer.from(proof);
  return actual.byteLength === expected.byteLength && timingSafeEqual(actual, expected);
}

/** The secrets of the installation whose data lie in `folder`. Throws what the file system throws, and for damage. */
export function readInstallationSecrets(folder: string): readonly Uint8Array[] {
  const secrets = parseSecrets(readFileSync(join(folder, secretsFile), 'utf8'));
  if (secrets === null) throw new Error(`${secretsFile} is damaged`);
  return secrets;
}

/** Replaces the file in one step. Throws what the file system throws. */
export function writeInstallationSecrets(folder: string, secrets: readonly Uint8Array[]): void {
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

/** The current secret, then those that a rotation replaced, the newest first; null for a damaged file. */
export function parseSecrets(text: string): readonly Uint8Array[] | null {
  try {
    const { secret, earlier = [] } = JSON.parse(text) as { secret?: unknown; earlier?: unknown };
    if (!Array.isArray(earlier)) return null;
    const secrets = [secret, ...(earlier as unknown[])].map((each) =>
      typeof each === 'string' ? Buffer.from(each, 'base64url') : Buffer.alloc(0),
    );
    return secrets.every(({ byteLength }) => byteLength === secretBytes) ? secrets : null;
  } catch {
    return null;
  }
}

export function serializeSecrets(secrets: readonly Uint8Array[]): string {
  const [secret, ...earlier] = secrets.map((each) => Buffer.from(each).toString('base64url'));
  return `${JSON.stringify(earlier.length === 0 ? { secret } : { secret, earlier })}\n`;
}
