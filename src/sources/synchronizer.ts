import { AppError } from '../core/app-error.ts';
import { mapInOrder } from '../core/async/map-in-order.ts';
import type { Clock } from '../core/clock.ts';
import { describedError } from '../core/described-error.ts';
import { formatCount } from '../core/format.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { sourceLimits } from '../core/source-limits.ts';
import type { Collection, Collections } from '../storage/collections.ts';
import type { DocumentRecord } from '../storage/documents.ts';
import type { Metadata } from '../storage/metadata-codec.ts';
import type { SourceCounts, SourceItemRecord, SourceRecord, Sources } from '../storage/sources.ts';
import type { Store } from '../storage/store.ts';
import type { DocumentTarget } from './document-target.ts';
import type { Source, SourceChange, SourceItem, SourceListing } from './source.ts';

export interface SynchronizerOptions {
  readonly store: Pick<Store, 'write'>;
  readonly sources: Sources;
  readonly collections: Pick<Collections, 'findById'>;
  readonly target: DocumentTarget;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Pick<Logger, 'error'>;
  readonly mayLogContent: () => boolean;
}

/** A difference that a dry run found. */
export interface PlannedChange {
  readonly key: string;
  readonly action: 'add' | 'update' | 'delete' | 'fail';
  readonly error: string | null;
}

export interface SynchronizationInput {
  readonly record: SourceRecord;
  readonly source: Source;
  readonly cursor: string | null;
  /** Whether all documents may be deleted because the origin is empty. */
  readonly allowEmpty: boolean;
  readonly signal: AbortSignal;
  /** Called for every difference instead of applying it; absent: differences are applied. */
  readonly plan?: (change: PlannedChange) => void;
}

export type MutableCounts = { -readonly [name in keyof SourceCounts]: number };

export function createCounts(): MutableCounts {
  return { added: 0, updated: 0, deleted: 0, unchanged: 0, failed: 0 };
}

/** Synchronizes the documents of a source with its origin. */
export class Synchronizer {
  readonly #options: SynchronizerOptions;

  constructor(options: SynchronizerOptions) {
    this.#options = options;
  }

  /**
   * Runs once and returns the new cursor; null unless everything was listed and applied. Can be interrupted at any
   * time: a document and the record of its item are written together, so the next run continues. `counts` shows the
   * progress. Errors: AppError if the origin or the collection cannot be used; earlier changes are kept.
   */
  async run(input: SynchronizationInput, counts: MutableCounts): Promise<string | null> {
    const collection = this.#findCollection(input.record);
    return await new SynchronizationRun(this.#options, { ...input, collection }, counts).run();
  }

  /** Deletes the documents of a source. Can be interrupted and repeated. */
  async removeDocuments(record: SourceRecord, signal: AbortSignal): Promise<void> {
    const { sources, collections, target } = this.#options;
    const collection = collections.findById(record.collectionId);
    if (collection === undefined) return;
    for await (const { key, record: item } of sources.items(record)) {
      signal.throwIfAborted();
      if (item.hash === null) continue;
      await target.remove(collection, `${record.prefix}${key}`, [sources.deleteItem(record, key)]);
    }
  }

  #findCollection({ collectionId }: SourceRecord): Collection {
    const collection = this.#options.collections.findById(collectionId);
    if (collection !== undefined) return collection;
    throw new AppError('not_found', 'The collection of the source was deleted. Delete the source.');
  }
}

interface RunInput extends SynchronizationInput {
  readonly collection: Collection;
}

type ItemState = {
  readonly path: string;
  readonly row: SourceItemRecord | undefined;
  readonly document: DocumentRecord | undefined;
};

/** One pass over the changes of an origin. */
class SynchronizationRun {
  readonly #options: SynchronizerOptions;
  readonly #input: RunInput;
  readonly #counts: MutableCounts;
  readonly #listed = new Set<string>();
  /** Prefixes of keys that could not be listed. */
  readonly #unlistedPrefixes: string[] = [];

  constructor(options: SynchronizerOptions, input: RunInput, counts: MutableCounts) {
    this.#options = options;
    this.#input = input;
    this.#counts = counts;
  }

  async run(): Promise<string | null> {
    const { source, cursor, signal } = this.#input;
    const changes = source.listChanges(cursor, signal);
    const listing: { end: SourceListing | null } = { end: null };
    const iterate = async function* () {
      try {
        for (;;) {
          signal.throwIfAborted();
          const next = await changes.next();
          if (next.done === true) {
            listing.end = next.value;
            return;
          }
          yield next.value;
        }
      } finally {
        await changes.return({ cursor: null, isComplete: false });
      }
    };
    const applied = mapInOrder(iterate(), sourceLimits.itemsRunningMax, (change) => this.#apply(change));
    for await (const _ of applied) signal.throwIfAborted();
    if (listing.end?.isComplete === true) await this.#deleteUnlisted();
    return this.#counts.failed === 0 ? (listing.end?.cursor ?? null) : null;
  }

  async #apply(change: SourceChange): Promise<void> {
    switch (change.type) {
      case 'item':
        this.#markListed(change.item.key);
        return await this.#upsert(change.item);
      case 'deleted':
        return await this.#delete(change.key);
      case 'unlisted':
        if (change.isPrefix) this.#unlistedPrefixes.push(change.key);
        else this.#markListed(change.key);
        return await this.#recordFailure(change.key, change.reason);
    }
  }

  #markListed(key: string): void {
    this.#listed.add(key);
    if (this.#listed.size > sourceLimits.itemsMax)
      throw new AppError(
        'bad_request',
        `The origin has more than ${formatCount(sourceLimits.itemsMax, 'item')}. Exclude items, or split it into several sources.`,
      );
  }

  async #upsert(item: SourceItem): Promise<void> {
    const state = this.#stateOf(item.key);
    if (this.#isUnchanged(item, state)) {
      this.#counts.unchanged += 1;
      return;
    }
    const { collection, signal, plan, record } = this.#input;
    const { path, row, document } = state;
    try {
      if (document !== undefined && (row === undefined || row.hash === null)) throw foreignDocument(path);
      const metadata = this.#metadataOf(item);
      this.#options.target.check(collection, { path, metadata });
      const action = document === undefined ? 'added' : 'updated';
      if (plan === undefined)
        await this.#options.target.whenAdmitted(collection, signal, () => this.#store(item, state));
      else {
        plan({ key: item.key, action: document === undefined ? 'add' : 'update', error: null });
        this.#counts[action] += 1;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (this.#options.collections.findById(record.collectionId) === undefined) throw error;
      await this.#recordFailure(item.key, this.#describe(error));
    }
  }

  /** Whether the stored document has this version of the item, and no other caller has changed it. */
  #isUnchanged(item: SourceItem, { row, document }: ItemState): boolean {
    if (row === undefined || row.hash === null || item.version === '') return false;
    const hasVersion = row.version === item.version && row.revision === this.#input.record.revision;
    return hasVersion && document?.contentKind === 'auto' && document.rawHash === row.hash;
  }

  async #store(item: SourceItem, { path, row, document }: ItemState): Promise<void> {
    const { source, collection, signal, record } = this.#input;
    const { target, store, sources } = this.#options;
    const content = await source.read(item, signal);
    if (content === null) {
      // Deleted since it was listed.
      this.#listed.delete(item.key);
      return;
    }
    const blob = await target.receive(content.bytes, signal);
    try {
      const metadata = { ...this.#metadataOf(item), ...content.metadata };
      const action = document === undefined ? 'added' : 'updated';
      const version = content.version?.() ?? item.version;
      const stored = this.#itemRecord(version, { hash: blob.hash, action, error: null });
      const putItem = sources.putItem(record, item.key, stored);
      const hasContent = document?.contentKind === 'auto' && document.rawHash === blob.hash;
      const hasMetadata = document !== undefined && isEqual(document.metadata, metadata);
      if (hasContent && hasMetadata) {
        await store.write([sources.putItem(record, item.key, { ...stored, at: row?.at ?? stored.at })]);
        this.#counts.unchanged += 1;
        return;
      }
      if (hasContent && document.status === 'indexed') {
        await target.updateMetadata(collection, path, metadata);
        await store.write([putItem]);
      } else {
        const overwrite = row !== undefined && row.hash !== null;
        await target.put(collection, { path, metadata, overwrite, blob }, [putItem]);
      }
      this.#counts[action] += 1;
    } finally {
      await target.release(blob);
    }
  }

  /** Deletes the documents of all items that were not listed. */
  async #deleteUnlisted(): Promise<void> {
    const { source, signal, record, allowEmpty } = this.#input;
    const { sources } = this.#options;
    const isEmpty = this.#listed.size === 0 && this.#unlistedPrefixes.length === 0;
    for await (const { key, record: item } of sources.items(record)) {
      signal.throwIfAborted();
      if (this.#listed.has(key) || this.#unlistedPrefixes.some((prefix) => key.startsWith(prefix))) continue;
      if (isEmpty && !allowEmpty && item.hash !== null) throw emptyOrigin();
      // A file can be replaced while its folder is listed.
      if (await source.exists(key, signal)) continue;
      await this.#delete(key);
    }
  }

  async #delete(key: string): Promise<void> {
    const { record, collection, plan } = this.#input;
    const { sources, target, store } = this.#options;
    const { path, row } = this.#stateOf(key);
    if (row === undefined) return;
    if (plan !== undefined) {
      if (row.hash === null) return;
      plan({ key, action: 'delete', error: null });
      this.#counts.deleted += 1;
      return;
    }
    const deleteItem = sources.deleteItem(record, key);
    const isDeleted = row.hash !== null && (await target.remove(collection, path, [deleteItem]));
    if (isDeleted) this.#counts.deleted += 1;
    else await store.write([deleteItem], { mayUseReserve: true });
  }

  /** Returns a sentence for people. The message of an unexpected error may contain internals: the log has it. */
  #describe(error: unknown): string {
    if (error instanceof AppError) return error.message;
    const { code } = error as { code?: unknown };
    if (typeof code === 'string') return `The item cannot be read (${code}).`;
    const { logger, mayLogContent } = this.#options;
    const { sourceId } = this.#input.record;
    logger.error({ sourceId, error: describedError(error, mayLogContent()) }, 'source item failed');
    return 'The item failed with an internal error. Ask the operator to read the log of the server.';
  }

  async #recordFailure(key: string, error: string): Promise<void> {
    const { record, plan } = this.#input;
    const { sources, store } = this.#options;
    this.#counts.failed += 1;
    if (plan !== undefined) return plan({ key, action: 'fail', error });
    // A key that no record can have, such as a path of more than 4,096 bytes, has no document either.
    if (Buffer.byteLength(key) > limits.pathBytesMax) return;
    const hash = sources.item(record, key)?.hash ?? null;
    const failed = this.#itemRecord('', { hash, action: 'failed', error });
    await store.write([sources.putItem(record, key, failed)], { mayUseReserve: true });
  }

  #itemRecord(version: string, rest: Pick<SourceItemRecord, 'hash' | 'action' | 'error'>): SourceItemRecord {
    return { version, revision: this.#input.record.revision, at: this.#options.clock.now(), ...rest };
  }

  #stateOf(key: string): ItemState {
    const { record, collection } = this.#input;
    const path = `${record.prefix}${key}`;
    return {
      path,
      row: this.#options.sources.item(record, key),
      document: this.#options.target.find(collection, path),
    };
  }

  #metadataOf(item: SourceItem): Metadata {
    const { name, metadata } = this.#input.record;
    return { ...metadata, source: name, ...item.metadata };
  }
}

function foreignDocument(path: string): AppError {
  return new AppError(
    'conflict',
    `The collection already has a document ${JSON.stringify(path)} that this source did not add. Delete it, or add the source again with another prefix.`,
  );
}

function emptyOrigin(): AppError {
  return new AppError(
    'precondition_failed',
    'The origin is empty, so all documents of the source would be deleted. If this is intended, call sync-source with allow_empty.',
  );
}

function isEqual(left: Metadata, right: Metadata): boolean {
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  return names.every((name) => JSON.stringify(left[name]) === JSON.stringify(right[name]));
}
