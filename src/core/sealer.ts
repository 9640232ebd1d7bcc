import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Random } from './ids.ts';

const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/**
 * Authenticated encryption with keys of the installation, so that a copy of the store alone cannot be
 * decrypted. A sealed text is bound to a context, such as an id. The first key seals; the others only open
 * texts sealed before a key rotation.
 */
export class Sealer {
  readonly #keys: readonly Uint8Array[];
  readonly #random: Random;

  /** `keys`: 256 bits each, the current key first. */
  constructor(keys: readonly Uint8Array[], random: Random) {
    this.#keys = keys;
    this.#random = random;
  }

  seal(text: string, context: string): Uint8Array {
    const iv = this.#random.bytes(ivBytes);
    const cipherStream = createCipheriv(cipher, this.#keys[0]!, iv).setAAD(Buffer.from(context));
    const sealed = Buffer.concat([cipherStream.update(text, 'utf8'), cipherStream.final()]);
    return Buffer.concat([iv, cipherStream.getAuthTag(), sealed]);
  }

  /** Returns the text, or null when none of the keys sealed it in this context. */
  open(sealed: Uint8Array, context: string): string | null {
    for (const key of this.#keys) {
      const text = openWith(key, sealed, context);
      if (text !== null) return text;
    }
    return null;
  }

  /** Whether the current key sealed it. If so for all texts, an earlier key can be removed. */
  isCurrent(sealed: Uint8Array, context: string): boolean {
    return openWith(this.#keys[0]!, sealed, context) !== null;
  }
}

function openWith(key: Uint8Array, sealed: Uint8Array, context: string): string | null {
  if (sealed.byteLength < ivBytes + tagBytes) return null;
  const decipherStream = createDecipheriv(cipher, key, sealed.subarray(0, ivBytes), {
    authTagLength: tagBytes,
  })
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(ivBytes, ivBytes + tagBytes));
  const text = decipherStream.update(sealed.subarray(ivBytes + tagBytes), undefined, 'utf8');
  try {
    return text + decipherStream.final('utf8');
  } catch {
    // The only possible failure: the text was not sealed with this key in this context.
    return null;
  }
}
