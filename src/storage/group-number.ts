import type { PlainOperation } from './evaluate-group.ts';
import type { RocksDatabase } from './rocksdb.ts';
import { encodeCounters, readCounters } from './store.ts';

/**
 * Key of the group number, written with each group: after a failure it shows whether the group reached the
 * disk. Keys that start with 0x00 are reserved for the store, and no range returns them.
 */
export const groupKey = Uint8Array.of(0x00, 0x01);

export function groupMarker(number: number): PlainOperation {
  return { type: 'put', key: groupKey, value: encodeCounters([number]) };
}

/** Returns the number of the last group in the database; 0 before the first one. */
export function storedGroupNumber(database: Pick<RocksDatabase, 'getMany'>): number {
  return readCounters(database.getMany([groupKey])[0], 1)[0] ?? 0;
}
