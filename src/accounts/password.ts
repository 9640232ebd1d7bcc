import { createRequire } from 'node:module';
import type * as argon2 from '@node-rs/argon2';

/**
 * Loaded with `require`: for an import, Node.js would scan the text for export names, which takes .02 s of CPU.
 */
const { hash, verify }: typeof argon2 = createRequire(import.meta.url)('@node-rs/argon2');

/**
 * OWASP parameters for Argon2id: 19 MiB, two passes, one lane. About 30 ms on a libuv thread, off the event
 * loop.
 */
const argon2Options = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** Returns a hash in PHC format, which includes salt and parameters. */
export function hashPassword(password: string): Promise<string> {
  return hash(password, argon2Options);
}

export function verifyPassword(password: string, passwordHash: string): Promise<boolean> {
  return verify(passwordHash, password);
}
