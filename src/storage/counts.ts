import { assert } from '../core/assert.ts';
import { type DocumentIndexStatus, indexStatuses } from '../schemas/documents.ts';
import { Documents } from './documents.ts';
import { tables, uuid } from './keys.ts';
import { RecordCache } from './record-cache.ts';
import { encodeCounters, readCounters, type Store, type WriteOperation } from './store.ts';
import { bytesCodec, Table } from './table.ts';

/** Number of documents of a collection by status, and bytes. */
export interface CollectionCounts {
  readonly documents: Readonly<Record<DocumentIndexStatus, number>>;
  readonly indexedBytes: number;
  /** Raw bytes of all documents, regardless of status. */
  readonly storedBytes: number;
}

export interface CountsChange {
  /** Status before the write, null for a new document. */
  readonly from: DocumentIndexStatus | null;
  /** Status after the write, null for a deleted document. */
  readonly to: DocumentIndexStatus | null;
  /** Change of `indexedBytes`. */
  readonly bytes: number;
  /** Change of `storedBytes`; absent for none. */
  readonly stored?: number;
}

const countsTable = new Table<readonly [collectionId: string], Uint8Array>(tables.counts, [uuid], bytesCodec);
const indexedBytesIndex = indexStatuses.length;
const storedBytesIndex = indexedBytesIndex + 1;
const counterCount = storedBytesIndex + 1;

/** Counts per collection, kept exact by including every change in the write that causes it. */
export class Counts {
  readonly #store: Store;
  readonly #cache: RecordCache<CollectionCounts>;

  constructor(store: Store) {
    this.#store = store;
    this.#cache = new RecordCache(store, tables.counts);
  }

  get(collectionId: string): CollectionCounts {
    return this.#cache.get(collectionId, () =>
      fromCounters(readCounters(countsTable.get(this.#store, [collectionId]), counterCount)),
    );
  }

  /** Include this in the write that changes the document. */
  change(collectionId: string, change: CountsChange): WriteOperation {
    const amounts = new Array<number>(counterCount).fill(0);
    if (change.from !== null) addAmount(amounts, indexStatuses.indexOf(change.from), -1);
    if (change.to !== null) addAmount(amounts, indexStatuses.indexOf(change.to), 1);
    addAmount(amounts, indexedBytesIndex, change.bytes);
    addAmount(amounts, storedBytesIndex, change.stored ?? 0);
    return { type: 'add', key: countsTable.keyOf(collectionId), amounts };
  }

  delete(collectionId: string): WriteOperation {
    return countsTable.delete([collectionId]);
  }

  /** Computes the counts from all documents, for checks and repairs while nothing is written. */
  async recount(collectionId: string): Promise<CollectionCounts> {
    const amounts = new Array<number>(counterCount).fill(0);
    for await (const record of new Documents(this.#store).list(collectionId)) {
      addAmount(amounts, indexStatuses.indexOf(record.status), 1);
      addAmount(amounts, indexedBytesIndex, record.indexedBytes);
      addAmount(amounts, storedBytesIndex, record.size);
    }
    return fromCounters(amounts);
  }

  /** Replaces the counts after a `recount` that differed. */
  put(collectionId: string, counts: CollectionCounts): WriteOperation {
    const { documents, indexedBytes, storedBytes } = counts;
    const amounts = [...indexStatuses.map((status) => documents[status]), indexedBytes, storedBytes];
    return countsTable.put([collectionId], encodeCounters(amounts));
  }

  /** Whether the counts were stored by an earlier build with fewer counters; use `recount` to complete them. */
  isIncomplete(collectionId: string): boolean {
    const stored = countsTable.get(this.#store, [collectionId]);
    return (
      stored !== undefined && stored.byteLength < encodeCounters(new Array(counterCount).fill(0)).byteLength
    );
  }
}

function addAmount(amounts: number[], index: number, amount: number): void {
  const before = amounts[index];
  assert(before !== undefined, 'every status has a counter');
  amounts[index] = before + amount;
}

function fromCounters(amounts: readonly number[]): CollectionCounts {
  const documents = Object.fromEntries(indexStatuses.map((status, index) => [status, amounts[index] ?? 0]));
  return {
    documents: documents as Record<DocumentIndexStatus, number>,
    indexedBytes: amounts[indexedBytesIndex] ?? 0,
    storedBytes: amounts[storedBytesIndex] ?? 0,
  };
}
