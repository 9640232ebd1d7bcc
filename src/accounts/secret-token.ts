import { hash } from 'node:crypto';
import type { Chance } from '../base/ids.ts';

const chanceBytes = 32;

/** `prefix` and 256 bits of chance in base64url. It is shown to its owner and never stored. */
export function newToken(prefix: string, chance: Chance): string {
  return prefix + Buffer.from(chance.bytes(chanceBytes)).toString('base64url');
}

/** SHA-256, lower-case hexadecimal: all that is stored of a token. Enough, for tokens are not passwords. */
export function tokenDigest(token: string): string {
  return hash('sha256', token, 'hex');
}
