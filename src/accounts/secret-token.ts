import { hash } from 'node:crypto';
import type { Random } from '../core/ids.ts';

const tokenBytes = 32;

/** `prefix` and 256 bits of chance in base64url. It is shown to its owner and never stored. */
export function generateToken(prefix: string, random: Random): string {
  return prefix + Buffer.from(random.bytes(tokenBytes)).toString('base64url');
}

/** SHA-256, lower-case hexadecimal: all that is stored of a token. Enough, for tokens are not passwords. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}
