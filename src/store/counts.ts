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
}

export interface CountsChange {
  /** Status before the write, null for a new document. */
  readonly from: DocumentIndexStatus | null;
  /** Status after the write, null for a deleted document. */
  readonly to: DocumentIndexStatus | null;
  /** Change of `indexedBytes`. */
  readonly bytes: number;
}

const counts = new Table<readonly [collectionId: string], Uint8Array>(tables.counts, [uuid], bytesCodec);
const counterCount = indexStatuses.length + 1;

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
    addTo(amounts, counterCount - 1, change.bytes);
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
      addTo(amounts, counterCount - 1, record.indexedBytes);
    }
    return fromCounters(amounts);
  }

  /** Replaces the counts, after a `recount` that differed. */
  put(collectionId: string, found: CollectionCounts): Operation {
    const amounts = [...indexStatuses.map((status) => found.documents[status]), found.indexedBytes];
    return counts.put([collectionId], encodeCounters(amounts));
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
    indexedBytes: amounts[counterCount - 1] ?? 0,
  };
}
