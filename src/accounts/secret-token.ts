import { hash } from 'node:crypto';
import type { Random } from '../core/ids.ts';

const tokenBytes = 32;

/**
 * Returns `prefix` followed by 256 random bits in base64url. The token is shown to its owner and never
 * stored.
 */
export function generateToken(prefix: string, random: Random): string {
  return prefix + Buffer.from(random.bytes(tokenBytes)).toString('base64url');
}

/**
 * Returns the SHA-256 of a token in lower-case hexadecimal, which is all that is stored. Sufficient because
 * tokens are random, unlike passwords.
 */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}
