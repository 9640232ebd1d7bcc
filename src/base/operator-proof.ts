import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The file in the data directory that holds the installation's secret, readable by the operator alone. */
export const secretsFile = 'secrets.json';

/** What a key that is derived from the installation's secret is for; each gets its own. */
export type SecretUse = 'operator' | 'invitations' | 'confirmations' | 'replies' | 'marketplaces';

/** 256 bits for one use, so that what one room signs is worth nothing in another. */
export function derivedSecret(secret: Uint8Array, use: SecretUse): Uint8Array {
  return createHmac('sha256', secret).update(`quarry ${use}`).digest();
}

/** Shows that somebody can read the data directory: base64url of the secret for that use. */
export function operatorProof(secret: Uint8Array): string {
  return Buffer.from(derivedSecret(secret, 'operator')).toString('base64url');
}

export function isOperatorProof(proof: string, secret: Uint8Array): boolean {
  const expected = Buffer.from(operatorProof(secret));
  const given = Buffer.from(proof);
  return given.byteLength === expected.byteLength && timingSafeEqual(given, expected);
}

/** The secret of the installation whose data lie in `folder`. Throws what the file system throws. */
export function readInstallationSecret(folder: string): Uint8Array {
  const { secret } = JSON.parse(readFileSync(join(folder, secretsFile), 'utf8')) as { secret: string };
  return Buffer.from(secret, 'base64url');
}
