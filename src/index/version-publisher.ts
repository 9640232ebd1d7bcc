import type { ChangeLog, LiveVersions } from '../storage/changes.ts';
import type { Sequence } from '../storage/sequence.ts';
import type { Store, WriteOperation, WriteOptions } from '../storage/store.ts';
import type { Indexes } from './indexes.ts';

/** One step of what search answers from: a version appears, disappears or replaces another. */
export interface VersionChange {
  readonly collectionId: string;
  readonly shard: number;
  readonly add: { readonly version: number; readonly documentId: string } | null;
  /** Version that search answers from until now. */
  readonly remove: number | null;
}

export interface VersionPublisherOptions {
  readonly store: Store;
  readonly sequence: Sequence;
  readonly changes: ChangeLog;
  readonly live: LiveVersions;
  readonly indexes: Indexes;
}

/**
 * Changes the shards and the store as one step. The shards come first, in the very turn in which the write is handed
 * over: so whoever reads `indexed` finds the document by the next query, and changes reach both in the same order.
 * When the write is refused, the shards are put back to what the store says.
 */
export class VersionPublisher {
  readonly #options: VersionPublisherOptions;

  constructor(options: VersionPublisherOptions) {
    this.#options = options;
  }

  /** Writes `operations` together with the switch. Rejects as `Store.write` does, and then nothing has changed. */
  async publish(
    change: VersionChange | null,
    operations: readonly WriteOperation[],
    options: WriteOptions = {},
  ): Promise<void> {
    const { store, indexes } = this.#options;
    if (change === null || (change.add === null && change.remove === null)) {
      await store.write(operations, options);
      return;
    }
    const { collectionId, shard, add, remove } = change;
    await indexes.waitUntilReady(collectionId);
    const written = store.write([...operations, ...this.#commitIndex(change)], options);
    await indexes.trackWrite(collectionId, { shard, added: add?.version ?? null, removed: remove }, written);
  }

  /** Switches the shards now, and answers the operations that say so in the store. */
  #commitIndex({ collectionId, shard, add, remove }: VersionChange): WriteOperation[] {
    const { sequence, changes, live, indexes } = this.#options;
    const change = {
      sequence: sequence.next(),
      shard,
      ...(add === null ? {} : { add: add.version }),
      ...(remove === null ? {} : { remove }),
    };
    indexes.commit(collectionId, change);
    const operations = [changes.put(collectionId, change)];
    if (add !== null) operations.push(live.put(collectionId, { shard, ...add }));
    if (remove !== null) operations.push(live.delete(collectionId, { shard, version: remove }));
    return operations;
  }
}
