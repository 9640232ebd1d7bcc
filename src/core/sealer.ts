import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Random } from './ids.ts';

const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/**
 * Authenticated encryption with keys of the installation, so that a copy of the store alone opens nothing. A sealed
 * text is bound to a context, such as an id. The first key seals; the others only open what was sealed before a
 * rotation.
 */
export class Sealer {
  readonly #keys: readonly Uint8Array[];
  readonly #random: Random;

  /** `keys`: of 256 bits, the current one first. */
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

  /** The text; null for what none of the keys sealed in this context. */
  open(sealed: Uint8Array, context: string): string | null {
    for (const key of this.#keys) {
      const text = openWith(key, sealed, context);
      if (text !== null) return text;
    }
    return null;
  }

  /** Whether the current key sealed it, so that an earlier one can be forgotten. */
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
    // The only reason to fail here: it was not sealed with this key in this context.
    return null;
  }
}
