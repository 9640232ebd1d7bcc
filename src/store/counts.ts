import { assert } from '../base/assert.ts';
import { type DocumentIndexStatus, indexStatuses } from '../schemas/documents.ts';
import { Documents } from './documents.ts';
import { tables, uuid } from './keys.ts';
import { Remembered } from './remembered.ts';
import { encodeCounters, type Operation, readCounters, type Store } from './store.ts';
import { bytesCodec, Table } from './table.ts';

/** Documents of a collection by status, and the UTF-8 bytes that are searchable. */
export interface CollectionCounts {
  readonly documents: Readonly<Record<DocumentIndexStatus, number>>;
  readonly indexedBytes: number;
  /** Raw bytes of all documents, whatever their status. */
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

const counts = new Table<readonly [collectionId: string], Uint8Array>(tables.counts, [uuid], bytesCodec);
const indexedAt = indexStatuses.length;
const storedAt = indexedAt + 1;
const counterCount = storedAt + 1;

/** Counts per collection, kept exact by joining every change to the write that causes it. */
export class Counts {
  readonly #store: Store;
  readonly #remembered: Remembered<CollectionCounts>;

  constructor(store: Store) {
    this.#store = store;
    this.#remembered = new Remembered(store, tables.counts);
  }

  get(collectionId: string): CollectionCounts {
    return this.#remembered.get(collectionId, () =>
      fromCounters(readCounters(counts.get(this.#store, [collectionId]), counterCount)),
    );
  }

  /** Join this to the write that changes the document. */
  change(collectionId: string, change: CountsChange): Operation {
    const amounts = new Array<number>(counterCount).fill(0);
    if (change.from !== null) addTo(amounts, indexStatuses.indexOf(change.from), -1);
    if (change.to !== null) addTo(amounts, indexStatuses.indexOf(change.to), 1);
    addTo(amounts, indexedAt, change.bytes);
    addTo(amounts, storedAt, change.stored ?? 0);
    return { type: 'add', key: counts.keyOf(collectionId), amounts };
  }

  delete(collectionId: string): Operation {
    return counts.delete([collectionId]);
  }

  /** What the counts must be, read from every document: for checks and repairs while nothing is written. */
  async recount(collectionId: string): Promise<CollectionCounts> {
    const amounts = new Array<number>(counterCount).fill(0);
    for await (const record of new Documents(this.#store).list(collectionId)) {
      addTo(amounts, indexStatuses.indexOf(record.status), 1);
      addTo(amounts, indexedAt, record.indexedBytes);
      addTo(amounts, storedAt, record.size);
    }
    return fromCounters(amounts);
  }

  /** Replaces the counts, after a `recount` that differed. */
  put(collectionId: string, found: CollectionCounts): Operation {
    const { documents, indexedBytes, storedBytes } = found;
    const amounts = [...indexStatuses.map((status) => documents[status]), indexedBytes, storedBytes];
    return counts.put([collectionId], encodeCounters(amounts));
  }

  /** Whether earlier builds counted, which did not know all that is counted now: a `recount` finds it out. */
  isPartial(collectionId: string): boolean {
    const stored = counts.get(this.#store, [collectionId]);
    return (
      stored !== undefined && stored.byteLength < encodeCounters(new Array(counterCount).fill(0)).byteLength
    );
  }
}

function addTo(amounts: number[], index: number, amount: number): void {
  const before = amounts[index];
  assert(before !== undefined, 'every status has a counter');
  amounts[index] = before + amount;
}

function fromCounters(amounts: readonly number[]): CollectionCounts {
  const documents = Object.fromEntries(indexStatuses.map((status, index) => [status, amounts[index] ?? 0]));
  return {
    documents: documents as Record<DocumentIndexStatus, number>,
    indexedBytes: amounts[indexedAt] ?? 0,
    storedBytes: amounts[storedAt] ?? 0,
  };
}
