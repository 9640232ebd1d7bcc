import type { Sealing } from './sealing.ts';

/** `seal` and `open` for values that travel as text: JSON, encrypted, in base64url. */

export function sealToText(sealing: Sealing, value: unknown, boundTo: string): string {
  return Buffer.from(sealing.seal(JSON.stringify(value), boundTo)).toString('base64url');
}

/** Null for what was not sealed so. The value has the type that was sealed in this context. */
export function openText<T>(sealing: Sealing, text: string, boundTo: string): T | null {
  const opened = sealing.open(Buffer.from(text, 'base64url'), boundTo);
  return opened === null ? null : (JSON.parse(opened) as T);
}
