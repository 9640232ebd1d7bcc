import { hash, verify } from '@node-rs/argon2';

/** OWASP's parameters for Argon2id: 19 MiB, two passes, one lane. Some 30 ms on a thread of libuv, never on the loop. */
const argon2Options = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** A hash in PHC format, with salt and parameters in it. */
export function hashPassword(password: string): Promise<string> {
  return hash(password, argon2Options);
}

export function verifyPassword(password: string, passwordHash: string): Promise<boolean> {
  return verify(passwordHash, password);
}
