import { assert } from '../base/assert.ts';
import { entryHashes, type LexiconEntry } from './lexicon.ts';

/**
 * A TermBlock holds the terms of a document's rows (one row = one coarse chunk), packed little endian and
 * handed to the engine as it is stored:
 *   header   u32 magic 'QTB1', u32 rowCount
 *   sizes    rowCount x u32 entryCount, padded with zeros to a multiple of 8 bytes
 *   entries  in row order, 16 bytes each: u64 termHash, u16 bodyCount, u16 prefixCount, u32 zero
 * The entries of a row ascend by unsigned termHash and are unique; counts saturate at 65,535.
 */
const termBlockMagic = 0x31425451;
const wordsPerEntry = 4;
const countMax = 0xffff;

assert(
  new Uint8Array(new Uint32Array([1]).buffer)[0] === 1,
  'this machine is little endian, as the format is',
);

/** Collects rows and lays out the block. */
export class TermBlockPacker {
  readonly #sizes: Uint32Array;
  readonly #row = new Occurrences();
  #words = new Uint32Array(1_024);
  #rows = 0;
  #entries = 0;

  constructor(rowCount: number) {
    this.#sizes = new Uint32Array(rowCount);
  }

  /** Entries so far. */
  get entries(): number {
    return this.#entries;
  }

  /**
   * Adds a row stemmed for the language at `position` (-1: unsure) and returns its number of term
   * occurrences.
   */
  add(body: readonly LexiconEntry[], prefix: readonly LexiconEntry[], position: number): number {
    const row = this.#row;
    row.clear();
    for (const entry of body) row.add(entryHashes(entry, position));
    const bodyOccurrences = row.count;
    for (const entry of prefix) row.add(entryHashes(entry, position));
    const before = this.#entries;
    this.#reserve(row.count);
    row.forEachTerm(bodyOccurrences, (high, low, bodyCount, prefixCount) => {
      const offset = this.#entries * wordsPerEntry;
      this.#words[offset] = low;
      this.#words[offset + 1] = high;
      this.#words[offset + 2] = Math.min(bodyCount, countMax) | (Math.min(prefixCount, countMax) << 16);
      this.#words[offset + 3] = 0;
      this.#entries += 1;
    });
    this.#sizes[this.#rows] = this.#entries - before;
    this.#rows += 1;
    return row.count;
  }

  finish(): Uint8Array {
    const headerWords = 2 + this.#sizes.length + (this.#sizes.length % 2);
    const block = new Uint32Array(headerWords + this.#entries * wordsPerEntry);
    block[0] = termBlockMagic;
    block[1] = this.#sizes.length;
    block.set(this.#sizes, 2);
    block.set(this.#words.subarray(0, this.#entries * wordsPerEntry), headerWords);
    return new Uint8Array(block.buffer);
  }

  #reserve(entries: number): void {
    const needed = (this.#entries + entries) * wordsPerEntry;
    if (needed <= this.#words.length) return;
    const larger = new Uint32Array(Math.max(needed, this.#words.length * 2));
    larger.set(this.#words);
    this.#words = larger;
  }
}

/** Room for the position of an occurrence below its hash in a number that a double holds exactly. */
const positionsMax = 2 ** 20;

/** The term occurrences of one row, to be sorted and counted. */
class Occurrences {
  #highs = new Uint32Array(1_024);
  #lows = new Uint32Array(1_024);
  #keys = new Float64Array(1_024);
  count = 0;

  clear(): void {
    this.count = 0;
  }

  /** `halves`: (high, low) pairs. */
  add(halves: Uint32Array): void {
    if (this.count + halves.length > this.#highs.length) this.#grow(halves.length);
    for (let index = 0; index < halves.length; index += 2) {
      this.#highs[this.count] = halves[index]!;
      this.#lows[this.count] = halves[index + 1]!;
      this.count += 1;
    }
  }

  /**
   * Each distinct term in ascending order of hash; occurrences from `bodyOccurrences` on belong to the
   * prefix.
   */
  forEachTerm(
    bodyOccurrences: number,
    visit: (high: number, low: number, bodyCount: number, prefixCount: number) => void,
  ): void {
    assert(this.count <= positionsMax, 'a row is one chunk');
    const keys = this.#keys.subarray(0, this.count);
    for (let index = 0; index < this.count; index += 1)
      keys[index] = this.#highs[index]! * positionsMax + index;
    keys.sort();
    for (let from = 0; from < this.count; ) {
      const high = Math.floor(keys[from]! / positionsMax);
      let to = from + 1;
      while (to < this.count && keys[to]! < (high + 1) * positionsMax) to += 1;
      const positions = keys.subarray(from, to);
      for (let index = 0; index < positions.length; index += 1)
        positions[index] = positions[index]! % positionsMax;
      this.#visitEqualHighs(high, positions, bodyOccurrences, visit);
      from = to;
    }
  }

  /** Nearly always one term; two terms may share the upper half of their hashes. */
  #visitEqualHighs(
    high: number,
    positions: Float64Array,
    bodyOccurrences: number,
    visit: (high: number, low: number, bodyCount: number, prefixCount: number) => void,
  ): void {
    const lows = this.#lows;
    const first = lows[positions[0]!]!;
    if (positions.some((position) => lows[position] !== first)) {
      positions.sort((left, right) => lows[left]! - lows[right]! || left - right);
    }
    let bodyCount = 0;
    let prefixCount = 0;
    for (let index = 0; index < positions.length; index += 1) {
      const position = positions[index]!;
      if (position < bodyOccurrences) bodyCount += 1;
      else prefixCount += 1;
      const next = positions[index + 1];
      if (next !== undefined && lows[next] === lows[position]) continue;
      visit(high, lows[position]!, bodyCount, prefixCount);
      bodyCount = 0;
      prefixCount = 0;
    }
  }

  #grow(extra: number): void {
    const length = (this.count + extra) * 2;
    const highs = new Uint32Array(length);
    const lows = new Uint32Array(length);
    highs.set(this.#highs);
    lows.set(this.#lows);
    this.#highs = highs;
    this.#lows = lows;
    this.#keys = new Float64Array(length);
  }
}

export interface TermBlockEntry {
  readonly hash: bigint;
  readonly bodyCount: number;
  readonly prefixCount: number;
}

/**
 * The rows of a block, checked; for tests, tools and the slow path. Throws when the bytes are not a
 * TermBlock.
 */
export function readTermBlock(block: Uint8Array): TermBlockEntry[][] {
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
  assert(
    block.byteLength >= 8 && view.getUint32(0, true) === termBlockMagic,
    'a term block starts with QTB1',
  );
  const rowCount = view.getUint32(4, true);
  let offset = 8 + rowCount * 4 + (rowCount % 2) * 4;
  assert(offset <= block.byteLength, 'a term block holds its sizes');
  const rows: TermBlockEntry[][] = [];
  for (let row = 0; row < rowCount; row += 1) {
    const size = view.getUint32(8 + row * 4, true);
    assert(offset + size * 16 <= block.byteLength, 'a term block holds its entries');
    const entries: TermBlockEntry[] = [];
    for (const end = offset + size * 16; offset < end; offset += 16) {
      entries.push({
        hash: view.getBigUint64(offset, true),
        bodyCount: view.getUint16(offset + 8, true),
        prefixCount: view.getUint16(offset + 10, true),
      });
    }
    rows.push(entries);
  }
  assert(offset === block.byteLength, 'a term block ends with its last entry');
  return rows;
}
