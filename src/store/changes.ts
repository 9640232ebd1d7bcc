import { tables, u32, u53, uuid } from './keys.ts';
import type { Operation, Store } from './store.ts';
import { Table } from './table.ts';

/** One atomic step of what search answers from: a version appears, disappears, or replaces another. */
export interface Change {
  readonly sequence: number;
  readonly shard: number;
  /** The version that becomes searchable. */
  readonly add?: number;
  /** The version that stops being searchable. */
  readonly remove?: number;
}

const changes = new Table<readonly [collectionId: string, sequence: number], Omit<Change, 'sequence'>>(
  tables.changes,
  [uuid, u53],
);

/** Per collection, what happened since the engine's last snapshot; replayed at start, trimmed after snapshots. */
export class ChangeLog {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Join this to the write that changes the live version; take `sequence` in the same turn. */
  put(collectionId: string, change: Change): Operation {
    const { sequence, ...rest } = change;
    return changes.put([collectionId, sequence], rest);
  }

  /**
   * Resolves when the store has taken a write, and rejects as it does while it cannot be written: until then a change
   * whose write failed may be on the disk all the same, and come back after a crash.
   */
  settle(collectionId: string): Promise<void> {
    // No change has this sequence.
    return this.#store.write([changes.delete([collectionId, 0])], { mayUseReserve: true });
  }

  /** Changes with a greater sequence, in order. */
  async *after(collectionId: string, sequence: number): AsyncGenerator<Change, void, void> {
    const from = sequence < 0 ? {} : { gt: changes.keyOf(collectionId, sequence) };
    for await (const { key, value } of changes.range(this.#store, [collectionId], from)) {
      yield { sequence: key[1], ...value };
    }
  }

  /** Deletes up to `limit` changes that a snapshot with this sequence covers; call again while it returns `limit`. */
  async trim(collectionId: string, covered: number, limit: number): Promise<number> {
    const deletes: Operation[] = [];
    const until = { lte: changes.keyOf(collectionId, covered), limit };
    for await (const key of changes.keys(this.#store, [collectionId], until))
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

const live = new Table<readonly [collectionId: string, shard: number, version: number], string>(tables.live, [
  uuid,
  u32,
  u53,
]);

/** Which versions a collection answers from, by shard: what a missing or damaged engine snapshot is rebuilt from. */
export class LiveVersions {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  put(collectionId: string, entry: LiveVersion): Operation {
    return live.put([collectionId, entry.shard, entry.version], entry.documentId);
  }

  delete(collectionId: string, entry: Omit<LiveVersion, 'documentId'>): Operation {
    return live.delete([collectionId, entry.shard, entry.version]);
  }

  /** The write is refused unless search answers from this version at its turn. */
  expect(collectionId: string, entry: Omit<LiveVersion, 'documentId'>): Operation {
    return live.expect(
      [collectionId, entry.shard, entry.version],
      (known) => known !== undefined,
      'search answers from the version',
    );
  }

  /** All shards, or one, in the order of shard and version. */
  async *list(collectionId: string, shard?: number): AsyncGenerator<LiveVersion, void, void> {
    const leading = shard === undefined ? ([collectionId] as const) : ([collectionId, shard] as const);
    for await (const { key, value } of live.range(this.#store, leading)) {
      yield { shard: key[1], version: key[2], documentId: value };
    }
  }
}
