import type { Sealer } from './sealer.ts';

/** `seal` and `open` for values that travel as text: JSON, encrypted, in base64url. */

export function sealToText(sealer: Sealer, value: unknown, context: string): string {
  return Buffer.from(sealer.seal(JSON.stringify(value), context)).toString('base64url');
}

/**
 * Null for what was not sealed so. The value has the type that was sealed in this context. One value has one text:
 * characters that base64url ignores would make many texts, each with its own count of tries.
 */
export function openSealedText<T>(sealer: Sealer, text: string, context: string): T | null {
  const sealed = Buffer.from(text, 'base64url');
  if (sealed.toString('base64url') !== text) return null;
  const plaintext = sealer.open(sealed, context);
  return plaintext === null ? null : (JSON.parse(plaintext) as T);
}
