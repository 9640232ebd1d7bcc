import type { DocumentMetadataJson } from '../schemas/wire.ts';
import { deleteInBatches } from './delete-in-batches.ts';
import { tables, text, uuid } from './keys.ts';
import type { RangeOptions, Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/** Origin of documents that a collection follows. */
export interface SourceRecord {
  readonly sourceId: string;
  readonly organizationId: string;
  /** Unique in the organization. */
  readonly name: string;
  readonly collectionId: string;
  readonly kind: string;
  /** Settings of the kind. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Sealed JSON of the credentials; null if there are none. */
  readonly credentials: Uint8Array | null;
  /** Prefix of the paths of its documents. */
  readonly prefix: string;
  /** Interval, time of day or cron expression; `off`: on request only. */
  readonly schedule: string;
  /** Absent: `timeZoneDefault`. */
  readonly timeZone?: string;
  readonly isWatched: boolean;
  readonly metadata: DocumentMetadataJson;
  /** Increases with every change that concerns all items. */
  readonly revision: number;
  readonly isPaused: boolean;
  /** Set when the source is being deleted: whether its documents are deleted too. */
  readonly removal?: { readonly deleteDocuments: boolean };
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

export const timeZoneDefault = 'UTC';

/** Context in which the credentials of a source are sealed. */
export function credentialsContext(sourceId: string): string {
  return `source ${sourceId}`;
}

export interface SourceCounts {
  readonly added: number;
  readonly updated: number;
  readonly deleted: number;
  readonly unchanged: number;
  readonly failed: number;
}

export type SourceOutcome = 'succeeded' | 'partial' | 'failed' | 'interrupted';

export interface SourceRun {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: SourceOutcome;
  readonly error: string | null;
  readonly counts: SourceCounts;
}

/** Written by the synchronizer only, so that it never overwrites a change of the source. */
export interface SourceState {
  /** Version of the origin after the last complete run without failures; null: list everything. */
  readonly cursor: string | null;
  /** Start of a run that has not ended; a restarted server continues it. */
  readonly runningSince: number | null;
  readonly lastRun: SourceRun | null;
  readonly lastSuccessAt: number | null;
}

/** Item of the origin. */
export interface SourceItemRecord {
  /** Version of the item whose document is stored; empty: read it again. */
  readonly version: string;
  /** Revision of the source with which it was stored. */
  readonly revision: number;
  /** SHA-256 of its document; null if the source has not stored one. */
  readonly hash: string | null;
  readonly action: 'added' | 'updated' | 'failed';
  readonly error: string | null;
  /** Time of the action in milliseconds since the epoch. */
  readonly at: number;
}

export interface SourceItemEntry {
  readonly key: string;
  readonly record: SourceItemRecord;
}

type OrganizationKey = readonly [organizationId: string];
const sourcesTable = new Table<readonly [...OrganizationKey, name: string], SourceRecord>(tables.sources, [
  uuid,
  text,
]);
const statesTable = new Table<readonly [...OrganizationKey, sourceId: string], SourceState>(
  tables.sourceStates,
  [uuid, uuid],
);
const itemsTable = new Table<readonly [...OrganizationKey, sourceId: string, key: string], SourceItemRecord>(
  tables.sourceItems,
  [uuid, uuid, text],
);

type SourceId = Pick<SourceRecord, 'organizationId' | 'sourceId'>;

const initialState: SourceState = { cursor: null, runningSince: null, lastRun: null, lastSuccessAt: null };

/** Sources of all organizations, their state and their items. */
export class Sources {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  find(organizationId: string, name: string): SourceRecord | undefined {
    return sourcesTable.get(this.#store, [organizationId, name]);
  }

  /** Returns the sources by name, in the order of UTF-8 bytes. */
  async list(organizationId: string): Promise<SourceRecord[]> {
    const found: SourceRecord[] = [];
    for await (const { value } of sourcesTable.range(this.#store, [organizationId])) found.push(value);
    return found;
  }

  async listAll(): Promise<SourceRecord[]> {
    const found: SourceRecord[] = [];
    for await (const { value } of sourcesTable.range(this.#store, [])) found.push(value);
    return found;
  }

  put(record: SourceRecord): WriteOperation {
    return sourcesTable.put([record.organizationId, record.name], record);
  }

  delete({ organizationId, name, sourceId }: SourceRecord): WriteOperation[] {
    return [sourcesTable.delete([organizationId, name]), statesTable.delete([organizationId, sourceId])];
  }

  state({ organizationId, sourceId }: SourceId): SourceState {
    return statesTable.get(this.#store, [organizationId, sourceId]) ?? initialState;
  }

  putState({ organizationId, sourceId }: SourceId, state: SourceState): WriteOperation {
    return statesTable.put([organizationId, sourceId], state);
  }

  item({ organizationId, sourceId }: SourceId, key: string): SourceItemRecord | undefined {
    return itemsTable.get(this.#store, [organizationId, sourceId, key]);
  }

  putItem({ organizationId, sourceId }: SourceId, key: string, record: SourceItemRecord): WriteOperation {
    return itemsTable.put([organizationId, sourceId, key], record);
  }

  deleteItem({ organizationId, sourceId }: SourceId, key: string): WriteOperation {
    return itemsTable.delete([organizationId, sourceId, key]);
  }

  /** Yields the items after `after` by key, in the order of UTF-8 bytes. */
  async *items(
    { organizationId, sourceId }: SourceId,
    after: string | null = null,
  ): AsyncGenerator<SourceItemEntry, void, void> {
    const start = after === null ? {} : { gt: itemsTable.keyOf(organizationId, sourceId, after) };
    for await (const { key, value } of itemsTable.range(this.#store, [organizationId, sourceId], start))
      yield { key: key[2], record: value };
  }

  /** Deletes all sources of an organization with their states and items, but no documents. */
  async deleteAll(organizationId: string): Promise<void> {
    await this.#deleteKeys((options) => itemsTable.keys(this.#store, [organizationId], options));
    await this.#deleteKeys((options) => statesTable.keys(this.#store, [organizationId], options));
    await this.#deleteKeys((options) => sourcesTable.keys(this.#store, [organizationId], options));
  }

  /** Deletes the items of a source, but no documents. */
  deleteItems({ organizationId, sourceId }: SourceId): Promise<void> {
    return this.#deleteKeys((options) => itemsTable.keys(this.#store, [organizationId, sourceId], options));
  }

  #deleteKeys(keys: (options: RangeOptions) => AsyncIterable<Uint8Array>): Promise<void> {
    return deleteInBatches(this.#store, async (limit) => {
      const deletions: WriteOperation[] = [];
      for await (const key of keys({ limit })) deletions.push({ type: 'delete', key });
      return deletions;
    });
  }
}
