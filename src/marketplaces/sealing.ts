import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Chance } from '../base/ids.ts';

const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/** Keeps what opens doors of others, so that a copy of the store alone opens none. What is sealed is bound to an id. */
export class Sealing {
  readonly #secret: Uint8Array;
  readonly #chance: Chance;

  constructor(secret: Uint8Array, chance: Chance) {
    this.#secret = secret;
    this.#chance = chance;
  }

  seal(text: string, boundTo: string): Uint8Array {
    const iv = this.#chance.bytes(ivBytes);
    const sealing = createCipheriv(cipher, this.#secret, iv).setAAD(Buffer.from(boundTo));
    const sealed = Buffer.concat([sealing.update(text, 'utf8'), sealing.final()]);
    return Buffer.concat([iv, sealing.getAuthTag(), sealed]);
  }

  /** Throws for what was not sealed so: with another secret, or for another id. */
  open(sealed: Uint8Array, boundTo: string): string {
    const iv = sealed.subarray(0, ivBytes);
    const opening = createDecipheriv(cipher, this.#secret, iv, { authTagLength: tagBytes })
      .setAAD(Buffer.from(boundTo))
      .setAuthTag(sealed.subarray(ivBytes, ivBytes + tagBytes));
    return `${opening.update(sealed.subarray(ivBytes + tagBytes), undefined, 'utf8')}${opening.final('utf8')}`;
  }
}
