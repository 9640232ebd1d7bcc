import { waitForAll } from '../core/async/wait-for-all.ts';
import type { ChangeLog, LiveVersions } from '../storage/changes.ts';
import type { Sequence } from '../storage/sequence.ts';
import type { Store, WriteOperation, WriteOptions } from '../storage/store.ts';
import type { Indexes } from './indexes.ts';

/** One atomic change of the searchable versions: a version is added, removed or replaces another. */
export interface VersionChange {
  readonly collectionId: string;
  readonly shard: number;
  readonly add: { readonly version: number; readonly documentId: string } | null;
  /** Version that search returned until now. */
  readonly remove: number | null;
}

export interface VersionPublisherOptions {
  readonly store: Store;
  readonly sequence: Sequence;
  readonly changes: ChangeLog;
  readonly live: LiveVersions;
  readonly indexes: Pick<Indexes, 'changes'>;
}

/**
 * Publishes changes to the shards and to the store as one step. The shards change first, in the same turn of
 * the event loop in which the write is handed over: a client that reads the status `indexed` finds the
 * document with its next query, and both see the changes in the same order. When the write fails, the shards
 * are restored to the state of the store.
 */
export class VersionPublisher {
  readonly #options: VersionPublisherOptions;

  constructor(options: VersionPublisherOptions) {
    this.#options = options;
  }

  /** Writes `operations` together with the change. Rejects as `Store.write` does; nothing has changed then. */
  async publish(
    change: VersionChange | null,
    operations: readonly WriteOperation[],
    options: WriteOptions = {},
  ): Promise<void> {
    const { store } = this.#options;
    if (change === null || (change.add === null && change.remove === null)) {
      await store.write(operations, options);
      return;
    }
    await this.publishAll(change.collectionId, [change], operations, options);
  }

  /** Same for several changes of one collection: all of them or none. */
  async publishAll(
    collectionId: string,
    changes: readonly VersionChange[],
    operations: readonly WriteOperation[],
    options: WriteOptions = {},
  ): Promise<void> {
    const { indexes } = this.#options;
    await indexes.changes.waitUntilReady(collectionId);
    const committed: VersionChange[] = [];
    const written = this.#commitAndWrite({ changes, operations, options }, committed);
    const tracked = committed.map(({ shard, add, remove }) => {
      const undo = { shard, added: add?.version ?? null, removed: remove };
      return indexes.changes.trackWrite(collectionId, undo, written);
    });
    await waitForAll([written, ...tracked]);
  }

  /** Runs until the write is handed over before it returns. `committed`: receives the changes made to the shards. */
  async #commitAndWrite(
    {
      changes,
      operations,
      options,
    }: {
      readonly changes: readonly VersionChange[];
      readonly operations: readonly WriteOperation[];
      readonly options: WriteOptions;
    },
    committed: VersionChange[],
  ): Promise<void> {
    const all = [...operations];
    for (const change of changes) {
      all.push(...this.#commitIndex(change));
      committed.push(change);
    }
    await this.#options.store.write(all, options);
  }

  /** Commits the change to the shards and returns the operations that record it in the store. */
  #commitIndex({ collectionId, shard, add, remove }: VersionChange): WriteOperation[] {
    const { sequence, changes, live, indexes } = this.#options;
    const change = {
      sequence: sequence.next(),
      shard,
      ...(add === null ? {} : { add: add.version }),
      ...(remove === null ? {} : { remove }),
    };
    indexes.changes.commit(collectionId, change);
    const operations = [changes.put(collectionId, change)];
    if (add !== null) operations.push(live.put(collectionId, { shard, ...add }));
    if (remove !== null) operations.push(live.delete(collectionId, { shard, version: remove }));
    return operations;
  }
}
