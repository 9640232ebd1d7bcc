import { createHmac, timingSafeEqual } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** The file in the data directory that holds the installation's secrets, readable by the operator alone. */
export const secretsFile = 'secrets.json';
const secretBytes = 32;

/** What a key that is derived from a secret of the installation is for; each use gets its own. */
export type SecretUse =
  | 'operator'
  | 'invitations'
  | 'sign-in'
  | 'replies'
  | 'marketplaces'
  | 'second-factors';

/** 256 bits for one use, so that what is signed for one use is worth nothing in another. */
function derivedSecret(secret: Uint8Array, use: SecretUse): Uint8Array {
  return createHmac('sha256', secret).update(`quarry ${use}`).digest();
}

/** The key of each secret for one use, that of the current secret first. */
export function derivedSecrets(secrets: readonly Uint8Array[], use: SecretUse): readonly Uint8Array[] {
  return secrets.map((secret) => derivedSecret(secret, use));
}

/** Shows that somebody can read the data directory: base64url of the secret for that use. */
export function operatorProof(secret: Uint8Array): string {
  return Buffer.from(derivedSecret(secret, 'operator')).toString('base64url');
}

/** Only of the current secret: a rotation takes this power from whoever read an earlier one. */
export function isOperatorProof(proof: string, secrets: readonly Uint8Array[]): boolean {
  const expected = Buffer.from(operatorProof(secrets[0]!));
  const given = Buffer.from(proof);
  return given.byteLength === expected.byteLength && timingSafeEqual(given, expected);
}

/** The secrets of the installation whose data lie in `folder`. Throws what the file system throws, and for damage. */
export function readInstallationSecrets(folder: string): readonly Uint8Array[] {
  const secrets = parsedSecrets(readFileSync(join(folder, secretsFile), 'utf8'));
  if (secrets === null) throw new Error(`${secretsFile} is damaged`);
  return secrets;
}

/** Replaces the file in one step. Throws what the file system throws. */
export function writeInstallationSecrets(folder: string, secrets: readonly Uint8Array[]): void {
  const path = join(folder, secretsFile);
  const file = openSync(`${path}.new`, 'w', 0o600);
  try {
    writeSync(file, secretsText(secrets));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(`${path}.new`, path);
}

/** The current secret, then those that a rotation replaced, the newest first; null for a damaged file. */
export function parsedSecrets(text: string): readonly Uint8Array[] | null {
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

export function secretsText(secrets: readonly Uint8Array[]): string {
  const [secret, ...earlier] = secrets.map((each) => Buffer.from(each).toString('base64url'));
  return `${JSON.stringify(earlier.length === 0 ? { secret } : { secret, earlier })}\n`;
}
