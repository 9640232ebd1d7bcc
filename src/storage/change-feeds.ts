import { KeyedMutex } from '../core/async/mutex.ts';
import { changeLimits } from '../core/change-limits.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type { ChangeType } from '../schemas/changes.ts';
import { tables, u53, uuid } from './keys.ts';
import type { Metadata } from './metadata-codec.ts';
import { readCounters, type Store, type WriteOperation } from './store.ts';
import { bytesCodec, recordCodec, Table } from './table.ts';

/** A change as stored. Fields of documents are absent for a collection. */
export interface StoredChange {
  readonly type: ChangeType;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly collectionId: string;
  /** Name of the collection at that time; for a rename, the new one. */
  readonly collection: string;
  readonly previousCollection?: string;
  readonly path?: string;
  readonly documentId?: string;
  /** Metadata of the document after the change, or before its deletion: filters of restricted keys need it. */
  readonly metadata?: Metadata;
  /** Metadata before the change; absent if it did not change. */
  readonly previousMetadata?: Metadata;
  readonly error?: { readonly code: string; readonly message: string };
}

export interface NumberedChange {
  readonly sequence: number;
  readonly change: StoredChange;
}

interface StoredFeed {
  /** Changes when the feed is created again, and after a restore, which makes earlier cursors invalid. */
  readonly epoch: number;
  /** Random bytes from which the ids of the changes are derived. */
  readonly idKey: Uint8Array;
  /** Time of the last use, exact to a day, in milliseconds since the epoch. */
  readonly usedAt: number;
}

export interface FeedState {
  readonly epoch: number;
  readonly idKey: Uint8Array;
  /** Number of the last change; 0 before the first. */
  readonly last: number;
}

type ChangeKey = readonly [organizationId: string, sequence: number];
/** Metadata as JSON text, for the reason given at `metadataField`. */
type EncodedChange = Omit<StoredChange, 'metadata' | 'previousMetadata'> & {
  readonly metadata?: string;
  readonly previousMetadata?: string;
};

const feedsTable = new Table<readonly [organizationId: string], StoredFeed>(tables.changeFeeds, [uuid]);
const countersTable = new Table<readonly [organizationId: string], Uint8Array>(
  tables.changeCounters,
  [uuid],
  bytesCodec,
);
const changesTable = new Table<ChangeKey, EncodedChange>(tables.feedChanges, [uuid, u53]);
const changeCodec = recordCodec<EncodedChange>();
/** A counter of 0, as `encodeCounters` writes it. */
const zeroCounter = new Uint8Array(8);
const idKeyBytes = 32;
const dayMs = 86_400_000;

/**
 * Changes of the documents and collections of each organization, in the order of the writes. The first read creates the
 * feed of an organization; earlier changes are not recorded. `append` writes nothing without the counter of the feed, so
 * that every write after the one that creates the counter is recorded.
 */
export class ChangeFeeds {
  readonly #store: Store;
  readonly #random: Random;
  /** Serializes opening and deleting the feed of an organization. */
  readonly #locks = new KeyedMutex();
  /** Cached key of the counter of one organization: the writes of a batch belong to the same one. */
  #counterKey: { readonly organizationId: string; readonly key: Uint8Array } | null = null;

  constructor(store: Store, random: Random) {
    this.#store = store;
    this.#random = random;
  }

  /** Include this in the write of the change. `describe` is called only if the organization has a feed. */
  append(organizationId: string, describe: () => StoredChange): WriteOperation {
    return {
      type: 'append',
      key: this.#keyOfCounter(organizationId),
      entry: (sequence) => ({
        key: changesTable.keyOf(organizationId, sequence),
        value: changeCodec.encode(encodeChange(describe())),
      }),
    };
  }

  /** Returns null for an organization without a feed. */
  find(organizationId: string): FeedState | null {
    const counter = this.#store.get(this.#keyOfCounter(organizationId));
    const feed = feedsTable.get(this.#store, [organizationId]);
    if (counter === undefined || feed === undefined) return null;
    return { epoch: feed.epoch, idKey: feed.idKey, last: readCounters(counter, 1)[0]! };
  }

  /** Creates the feed if the organization has none, and records its use. `now`: milliseconds since the epoch. */
  async open(organizationId: string, now: number): Promise<FeedState> {
    const feed = feedsTable.get(this.#store, [organizationId]);
    const state = this.find(organizationId);
    if (feed !== undefined && state !== null && now - feed.usedAt < dayMs) return state;
    return await this.#locks.run(organizationId, () => this.#openLocked(organizationId, now));
  }

  async #openLocked(organizationId: string, now: number): Promise<FeedState> {
    const state = this.find(organizationId);
    if (state === null) await this.#deleteChanges(organizationId); // an interrupted deletion left them
    const { epoch, idKey } = state ?? { epoch: now, idKey: this.#random.bytes(idKeyBytes) };
    const operations = [feedsTable.put([organizationId], { epoch, idKey, usedAt: now })];
    if (state === null) operations.push(countersTable.put([organizationId], zeroCounter));
    await this.#store.write(operations, { mayUseReserve: true });
    return this.find(organizationId) ?? { epoch, idKey, last: 0 };
  }

  /** Returns changes with a greater number, in order. Their numbers have no gaps. */
  async *readAfter(organizationId: string, sequence: number): AsyncGenerator<NumberedChange, void, void> {
    const range = { gt: changesTable.keyOf(organizationId, sequence) };
    for await (const { key, value } of changesTable.range(this.#store, [organizationId], range))
      yield { sequence: key[1], change: decodeChange(value) };
  }

  /** Returns the number of the first change that is kept; null if there is none. */
  async firstSequence(organizationId: string): Promise<number | null> {
    for await (const key of changesTable.keys(this.#store, [organizationId], { limit: 1 }))
      return changesTable.decodeKey(key)[1];
    return null;
  }

  /** Revision of the counters: while it is unchanged, no feed has a new change. */
  get revision(): number {
    return this.#store.revisionOf(tables.changeCounters);
  }

  /** Returns the organizations that have a feed. */
  async listOrganizations(): Promise<string[]> {
    const found: string[] = [];
    for await (const { key } of feedsTable.range(this.#store, [])) found.push(key[0]);
    return found;
  }

  /** Deletes changes that are too old or too many. Stops after the current batch when `signal` aborts. */
  async trim(organizationId: string, now: number, signal: AbortSignal): Promise<void> {
    const last = this.find(organizationId)?.last ?? 0;
    const sequenceMin = last - changeLimits.retainedMax + 1;
    const atMin = now - changeLimits.retentionMs;
    for (;;) {
      const deletes: WriteOperation[] = [];
      const range = changesTable.range(this.#store, [organizationId], { limit: limits.sweepOperationsMax });
      for await (const { key, value } of range)
        if (key[1] < sequenceMin || value.at < atMin) deletes.push(changesTable.delete(key));
        else break;
      if (deletes.length > 0) await this.#store.write(deletes, { mayUseReserve: true });
      if (deletes.length < limits.sweepOperationsMax || signal.aborted) return;
    }
  }

  /** Deletes the feed if it was not read for `changeLimits.idleMs`. Returns whether it was deleted. */
  deleteIdle(organizationId: string, now: number): Promise<boolean> {
    return this.#locks.run(organizationId, async () => {
      const feed = feedsTable.get(this.#store, [organizationId]);
      if (feed === undefined || now - feed.usedAt < changeLimits.idleMs) return false;
      await this.#deleteLocked(organizationId);
      return true;
    });
  }

  /** Deletes the feed and its changes; later changes are not recorded. */
  delete(organizationId: string): Promise<void> {
    return this.#locks.run(organizationId, () => this.#deleteLocked(organizationId));
  }

  async #deleteLocked(organizationId: string): Promise<void> {
    const deletes = [countersTable.delete([organizationId]), feedsTable.delete([organizationId])];
    await this.#store.write(deletes, { mayUseReserve: true });
    await this.#deleteChanges(organizationId);
  }

  async #deleteChanges(organizationId: string): Promise<void> {
    for (;;) {
      const deletes: WriteOperation[] = [];
      const keys = changesTable.keys(this.#store, [organizationId], { limit: limits.sweepOperationsMax });
      for await (const key of keys) deletes.push({ type: 'delete', key });
      if (deletes.length === 0) return;
      await this.#store.write(deletes, { mayUseReserve: true });
    }
  }

  /** Makes all cursors invalid: a restored store lacks changes that clients may have seen. */
  async restartAll(now: number): Promise<void> {
    for await (const { key, value } of feedsTable.range(this.#store, []))
      await this.#store.write([feedsTable.put(key, { ...value, epoch: now })]);
  }

  #keyOfCounter(organizationId: string): Uint8Array {
    if (this.#counterKey?.organizationId !== organizationId)
      this.#counterKey = { organizationId, key: countersTable.keyOf(organizationId) };
    return this.#counterKey.key;
  }
}

function encodeChange({ metadata, previousMetadata, ...change }: StoredChange): EncodedChange {
  return {
    ...change,
    ...(metadata === undefined ? {} : { metadata: JSON.stringify(metadata) }),
    ...(previousMetadata === undefined ? {} : { previousMetadata: JSON.stringify(previousMetadata) }),
  };
}

function decodeChange({ metadata, previousMetadata, ...change }: EncodedChange): StoredChange {
  return {
    ...change,
    ...(metadata === undefined ? {} : { metadata: JSON.parse(metadata) as Metadata }),
    ...(previousMetadata === undefined ? {} : { previousMetadata: JSON.parse(previousMetadata) as Metadata }),
  };
}
