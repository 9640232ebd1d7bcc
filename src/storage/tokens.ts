import { createHmac, timingSafeEqual } from 'node:crypto';
import { u32, uuid } from './keys.ts';

/**
 * Tokens of file_url and image_url: the document id, for images the page, and 128 bits of HMAC-SHA-256 under
 * the secret of the installation, in base64url. Nothing is stored per token; the caller checks with
 * `Documents.findById` whether the document still exists.
 */
export type FileToken =
  | { readonly kind: 'file'; readonly documentId: string }
  | { readonly kind: 'page'; readonly documentId: string; readonly page: number };

const macBytes = 16;
const fileBytes = 16;
const pageBytes = 20;

export function issueToken(secret: Uint8Array, token: FileToken): string {
  const body =
    token.kind === 'file'
      ? uuid.encode(token.documentId)
      : Buffer.concat([uuid.encode(token.documentId), u32.encode(token.page)]);
  return Buffer.concat([body, computeMac(secret, body)]).toString('base64url');
}

/** Returns the content of a token; null when it was issued with none of these secrets. */
export function readToken(secrets: readonly Uint8Array[], token: string): FileToken | null {
  const bytes = Buffer.from(token, 'base64url');
  // The decoder skips characters that are not base64url; only the canonical encoding is accepted.
  if (bytes.toString('base64url') !== token) return null;
  const bodyBytes = bytes.byteLength - macBytes;
  if (bodyBytes !== fileBytes && bodyBytes !== pageBytes) return null;
  const body = bytes.subarray(0, bodyBytes);
  const presentedMac = bytes.subarray(bodyBytes);
  if (!secrets.some((secret) => timingSafeEqual(computeMac(secret, body), presentedMac))) return null;
  const [documentId] = uuid.decode(body, 0);
  if (bodyBytes === fileBytes) return { kind: 'file', documentId };
  return { kind: 'page', documentId, page: u32.decode(body, fileBytes)[0] };
}

function computeMac(secret: Uint8Array, body: Uint8Array): Uint8Array {
  return createHmac('sha256', secret).update('quarry file token').update(body).digest().subarray(0, macBytes);
}
