import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import { packGroup } from '../storage/rocksdb.ts';
import type { Entry, StoreSnapshot } from '../storage/store.ts';

/** Consecutive entries of one table. */
export interface StoreRange {
  /** First byte of the keys. */
  readonly table: number;
  readonly keys: readonly Uint8Array[];
  /** The entries as a packed group of puts, ready for `StoreImport.write`. */
  readonly group: Uint8Array;
}

/** Bytes of a range: between `min` and `max`, on average about `min + average`. */
const rangeBytes = { min: 262_144, average: 786_432, max: 4_194_304 } as const;

/**
 * Splits the entries of a snapshot into ranges. A range ends where a hash of its last key says so, not after a
 * number of entries: after a change, only the ranges around it differ, and all others are the same objects.
 */
export async function* splitIntoRanges(
  snapshot: Pick<StoreSnapshot, 'next'>,
  yieldToEventLoop: YieldToEventLoop,
): AsyncGenerator<StoreRange, void, void> {
  let entries: Entry[] = [];
  let bytes = 0;
  for (let next = await snapshot.next(); next.length > 0; next = await snapshot.next()) {
    const turn = yieldToEventLoop();
    if (turn !== null) await turn;
    for (const entry of next) {
      if (entries.length > 0 && entries[0]!.key[0] !== entry.key[0]) {
        yield await pack(entries, yieldToEventLoop);
        entries = [];
        bytes = 0;
      }
      entries.push(entry);
      const size = entry.key.byteLength + entry.value.byteLength;
      bytes += size;
      if (bytes < rangeBytes.min || (bytes < rangeBytes.max && !isBoundary(entry.key, size))) continue;
      yield await pack(entries, yieldToEventLoop);
      entries = [];
      bytes = 0;
    }
  }
  if (entries.length > 0) yield await pack(entries, yieldToEventLoop);
}

async function pack(entries: readonly Entry[], yieldToEventLoop: YieldToEventLoop): Promise<StoreRange> {
  const operations = entries.map(({ key, value }) => ({ type: 'put', key, value }) as const);
  const group = new Uint8Array(await packGroup(operations, yieldToEventLoop));
  return { table: entries[0]!.key[0]!, keys: entries.map(({ key }) => key), group };
}

/** True with a probability of `size / average`, for the same keys at every backup. */
function isBoundary(key: Uint8Array, size: number): boolean {
  return hashOf(key) / 2 ** 32 < size / rangeBytes.average;
}

/** FNV-1a with a final mix, because keys of a table differ in few bytes. */
function hashOf(key: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of key) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
