import { assert } from '../core/assert.ts';

/**
 * Inverse document frequencies learned from the training text: ln(1 + (N - n + .5) / (n + .5)) for a stem
 * that occurs in n of N passages. File layout, little-endian: u32 count, f32 IDF of all stems not listed,
 * count x u32 hashes in ascending order, count x u8 IDFs in steps of 1/16.
 */
const headerBytes = 8;
const steps = 16;

/** 32-bit FNV-1a over UTF-16 units, low byte first. */
export function hashStem(stem: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < stem.length; i += 1) {
    const unit = stem.charCodeAt(i);
    hash = Math.imul(hash ^ (unit & 0xff), 0x01000193);
    hash = Math.imul(hash ^ (unit >>> 8), 0x01000193);
  }
  return hash >>> 0;
}

/** Encodes the file for stems with their IDFs. If two stems share a hash, the lower IDF is stored. */
export function encodeIdfTable(idfByStem: ReadonlyMap<string, number>, defaultIdf: number): Uint8Array {
  const byHash = new Map<number, number>();
  for (const [stem, idf] of idfByStem) {
    const hash = hashStem(stem);
    byHash.set(hash, Math.min(idf, byHash.get(hash) ?? Number.POSITIVE_INFINITY));
  }
  const entries = [...byHash].sort((a, b) => a[0] - b[0]);
  const file = new Uint8Array(headerBytes + 5 * entries.length);
  const view = new DataView(file.buffer);
  view.setUint32(0, entries.length, true);
  view.setFloat32(4, defaultIdf, true);
  for (const [index, [hash, idf]] of entries.entries()) {
    view.setUint32(headerBytes + 4 * index, hash, true);
    view.setUint8(headerBytes + 4 * entries.length + index, Math.min(255, Math.round(idf * steps)));
  }
  return file;
}

export class IdfTable {
  readonly #hashes: Uint32Array;
  readonly #codes: Uint8Array;
  readonly #defaultIdf: number;

  /** `file` has the layout written by `encodeIdfTable`. */
  constructor(file: Uint8Array) {
    const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
    const count = view.getUint32(0, true);
    assert(file.length === headerBytes + 5 * count, 'the IDF table is complete');
    this.#defaultIdf = view.getFloat32(4, true);
    // All supported platforms are little-endian, like the file.
    this.#hashes = new Uint32Array(
      new Uint8Array(file.subarray(headerBytes, headerBytes + 4 * count)).buffer,
    );
    this.#codes = file.slice(headerBytes + 4 * count);
  }

  /** Returns the IDF of a stem; stems that are rare in the training text get the default IDF. */
  get(stem: string): number {
    const at = this.#findIndex(stem);
    return at === null ? this.#defaultIdf : this.#codes[at]! / steps;
  }

  /** Whether the table lists the stem, that is, it occurs more than a few times in the training text. */
  has(stem: string): boolean {
    return this.#findIndex(stem) !== null;
  }

  #findIndex(stem: string): number | null {
    const hash = hashStem(stem);
    let low = 0;
    let high = this.#hashes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#hashes[middle]! < hash) low = middle + 1;
      else high = middle;
    }
    return this.#hashes[low] === hash ? low : null;
  }
}
