import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Chance } from './ids.ts';

const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/**
 * Authenticated encryption with keys of the installation, so that a copy of the store alone opens nothing. A sealed
 * text is bound to a context, such as an id. The first key seals; the others only open what was sealed before a
 * rotation.
 */
export class Sealing {
  readonly #keys: readonly Uint8Array[];
  readonly #chance: Chance;

  /** `keys`: of 256 bits, the current one first. */
  constructor(keys: readonly Uint8Array[], chance: Chance) {
    this.#keys = keys;
    this.#chance = chance;
  }

  seal(text: string, boundTo: string): Uint8Array {
    const iv = this.#chance.bytes(ivBytes);
    const sealing = createCipheriv(cipher, this.#keys[0]!, iv).setAAD(Buffer.from(boundTo));
    const sealed = Buffer.concat([sealing.update(text, 'utf8'), sealing.final()]);
    return Buffer.concat([iv, sealing.getAuthTag(), sealed]);
  }

  /** The text; null for what none of the keys sealed in this context. */
  open(sealed: Uint8Array, boundTo: string): string | null {
    for (const key of this.#keys) {
      const text = openWith(key, sealed, boundTo);
      if (text !== null) return text;
    }
    return null;
  }

  /** Whether the current key sealed it, so that an earlier one can be forgotten. */
  isCurrent(sealed: Uint8Array, boundTo: string): boolean {
    return openWith(this.#keys[0]!, sealed, boundTo) !== null;
  }
}

function openWith(key: Uint8Array, sealed: Uint8Array, boundTo: string): string | null {
  if (sealed.byteLength < ivBytes + tagBytes) return null;
  const opening = createDecipheriv(cipher, key, sealed.subarray(0, ivBytes), { authTagLength: tagBytes })
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(sealed.subarray(ivBytes, ivBytes + tagBytes));
  const text = opening.update(sealed.subarray(ivBytes + tagBytes), undefined, 'utf8');
  try {
    return text + opening.final('utf8');
  } catch {
    // The only reason to fail here: it was not sealed with this key in this context.
    return null;
  }
}
