import { tables, u32, u53, uuid } from './keys.ts';
import { uuidCodec } from './positional-codec.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/** One atomic change of the searchable versions: a version is added, removed, or replaces another. */
export interface ChangeLogEntry {
  readonly sequence: number;
  readonly shard: number;
  /** The version that becomes searchable. */
  readonly add?: number;
  /** The version that stops being searchable. */
  readonly remove?: number;
}

const changesTable = new Table<
  readonly [collectionId: string, sequence: number],
  Omit<ChangeLogEntry, 'sequence'>
>(tables.changes, [uuid, u53]);

/** Changes per collection since the engine's last snapshot; replayed at start, trimmed after snapshots. */
export class ChangeLog {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Include this in the write that changes the live version; take `sequence` in the same turn of the event
   * loop.
   */
  put(collectionId: string, change: ChangeLogEntry): WriteOperation {
    const { sequence, ...rest } = change;
    return changesTable.put([collectionId, sequence], rest);
  }

  /**
   * Resolves when the store has completed a write; rejects as that write does while the store is not
   * writable. Until then a change whose write failed may still be on disk and reappear after a crash.
   */
  writeBarrier(collectionId: string): Promise<void> {
    // No change has sequence 0, so nothing is deleted.
    return this.#store.write([changesTable.delete([collectionId, 0])], { mayUseReserve: true });
  }

  /** Returns changes with a greater sequence, in order. */
  async *readAfter(collectionId: string, sequence: number): AsyncGenerator<ChangeLogEntry, void, void> {
    const from = sequence < 0 ? {} : { gt: changesTable.keyOf(collectionId, sequence) };
    for await (const { key, value } of changesTable.range(this.#store, [collectionId], from)) {
      yield { sequence: key[1], ...value };
    }
  }

  /**
   * Deletes up to `limit` changes covered by a snapshot with this sequence; call again while it returns
   * `limit`.
   */
  async trim(collectionId: string, sequenceMax: number, limit: number): Promise<number> {
    const deletes: WriteOperation[] = [];
    const until = { lte: changesTable.keyOf(collectionId, sequenceMax), limit };
    for await (const key of changesTable.keys(this.#store, [collectionId], until))
      deletes.push({ type: 'delete', key });
    if (deletes.length > 0) await this.#store.write(deletes, { mayUseReserve: true });
    return deletes.length;
  }
}

export interface LiveVersion {
  readonly shard: number;
  readonly version: number;
  readonly documentId: string;
}

const liveTable = new Table<readonly [collectionId: string, shard: number, version: number], string>(
  tables.live,
  [uuid, u32, u53],
  uuidCodec,
);

/** Live versions of a collection by shard: the source for rebuilding a missing or damaged engine snapshot. */
export class LiveVersions {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  put(collectionId: string, entry: LiveVersion): WriteOperation {
    return liveTable.put([collectionId, entry.shard, entry.version], entry.documentId);
  }

  delete(collectionId: string, entry: Omit<LiveVersion, 'documentId'>): WriteOperation {
    return liveTable.delete([collectionId, entry.shard, entry.version]);
  }

  /** Rejects the write unless this version is live when the write is applied. */
  expect(collectionId: string, entry: Omit<LiveVersion, 'documentId'>): WriteOperation {
    return liveTable.expect(
      [collectionId, entry.shard, entry.version],
      (known) => known !== undefined,
      'the version is live',
    );
  }

  /** Returns the live versions of all shards, or of one, ordered by shard and version. */
  async *list(collectionId: string, shard?: number): AsyncGenerator<LiveVersion, void, void> {
    const leading = shard === undefined ? ([collectionId] as const) : ([collectionId, shard] as const);
    for await (const { key, value } of liveTable.range(this.#store, leading)) {
      yield { shard: key[1], version: key[2], documentId: value };
    }
  }
}
