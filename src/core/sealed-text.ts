import type { Sealer } from './sealer.ts';

/** `Sealer.seal` and `Sealer.open` for values sent as text: encrypted JSON in base64url. */

export function sealToText(sealer: Sealer, value: unknown, context: string): string {
  return Buffer.from(sealer.seal(JSON.stringify(value), context)).toString('base64url');
}

/**
 * Returns the value, or null for text that was not sealed in this context. The value has the type that was
 * sealed. One value has exactly one text: characters that base64url ignores would make many texts, each with
 * its own count of attempts.
 */
export function openSealedText<T>(sealer: Sealer, text: string, context: string): T | null {
  const sealed = Buffer.from(text, 'base64url');
  if (sealed.toString('base64url') !== text) return null;
  const plaintext = sealer.open(sealed, context);
  return plaintext === null ? null : (JSON.parse(plaintext) as T);
}
