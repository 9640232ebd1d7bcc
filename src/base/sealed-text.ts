import type { Sealing } from './sealing.ts';

/** `seal` and `open` for values that travel as text: JSON, encrypted, in base64url. */

export function sealToText(sealing: Sealing, value: unknown, boundTo: string): string {
  return Buffer.from(sealing.seal(JSON.stringify(value), boundTo)).toString('base64url');
}

/**
 * Null for what was not sealed so. The value has the type that was sealed in this context. One value has one text:
 * characters that base64url ignores would make many texts, each with its own count of tries.
 */
export function openText<T>(sealing: Sealing, text: string, boundTo: string): T | null {
  const sealed = Buffer.from(text, 'base64url');
  if (sealed.toString('base64url') !== text) return null;
  const opened = sealing.open(sealed, boundTo);
  return opened === null ? null : (JSON.parse(opened) as T);
}
