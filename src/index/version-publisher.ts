import { waitForAll } from '../core/async/wait-for-all.ts';
import type { Clock } from '../core/clock.ts';
import type { ChangeLog, LiveVersions } from '../storage/changes.ts';
import type { Collections } from '../storage/collections.ts';
import { putGarbage } from '../storage/garbage.ts';
import type { Sequence } from '../storage/sequence.ts';
import type { Store, WriteOperation, WriteOptions } from '../storage/store.ts';
import type { RetiredVersion, VersionHistory } from '../storage/version-history.ts';
import type { Indexes } from './indexes.ts';

/** One atomic change of the searchable versions: a version is added, removed or replaces another. */
export interface VersionChange {
  readonly collectionId: string;
  readonly shard: number;
  readonly add: { readonly version: number; readonly documentId: string } | null;
  /** Version that search returned until now. */
  readonly remove: number | null;
  /** Details of `remove`; absent or null if its data is deleted in another way. */
  readonly retired?: RetiredVersion | null;
  /** Whether the removed version is not kept, even in a collection with a history; absent: no. */
  readonly isErased?: boolean;
}

export interface VersionPublisherOptions {
  readonly store: Store;
  readonly sequence: Sequence;
  readonly changes: ChangeLog;
  readonly live: LiveVersions;
  readonly indexes: Pick<Indexes, 'changes'>;
  readonly collections: Pick<Collections, 'findById'>;
  readonly history: Pick<VersionHistory, 'record'>;
  readonly clock: Pick<Clock, 'now'>;
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
  #commitIndex(versionChange: VersionChange): WriteOperation[] {
    const { collectionId, shard, add, remove } = versionChange;
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
    operations.push(...this.#retire(versionChange, change.sequence));
    return operations;
  }

  /** Keeps the removed version, or schedules its deletion: running queries may still read it for a while. */
  #retire(
    { collectionId, add, retired = null, isErased = false }: VersionChange,
    sequence: number,
  ): WriteOperation[] {
    const { collections, history, clock } = this.#options;
    const at = clock.now();
    // Read here, in the same turn as the write: every write after that of the setting is recorded.
    if (!isErased && collections.findById(collectionId)?.historyDays !== undefined)
      return history.record(collectionId, { sequence, at, add: add?.version ?? null, retired });
    if (retired === null) return [];
    const { version, record, hasOwnContent } = retired;
    const hasContent = record !== undefined && hasOwnContent;
    const content = hasContent ? { documentId: record.documentId, rawHash: record.rawHash } : null;
    return [putGarbage({ collectionId, version, content }, at)];
  }
}
