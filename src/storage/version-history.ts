import { assertDefined } from '../core/assert.ts';
import type { Collection } from './collections.ts';
import type { Documents } from './documents.ts';
import { putGarbage } from './garbage.ts';
import {
  contentsTable,
  entriesTable,
  type HistoryMoment,
  isContentKept,
  type KeptVersion,
  keptBytesTable,
  pathsTable,
  startsTable,
  type VersionHistoryEntry,
} from './history-tables.ts';
import type { Sequence } from './sequence.ts';
import { ExpectationFailedError, readCounters, type Store, type WriteOperation } from './store.ts';
import type { VersionReader } from './version-reader.ts';
import type { VersionRecord } from './versions.ts';

/** A version that search no longer finds. */
export interface RetiredVersion {
  readonly version: number;
  /** Undefined if it was deleted already. */
  readonly record: VersionRecord | undefined;
  /** Whether its document has no other version: no version shares its content. */
  readonly hasOwnContent: boolean;
  /** Raw bytes. */
  readonly bytes: number;
}

interface RecordedChange {
  readonly sequence: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly add: number | null;
  readonly retired: RetiredVersion | null;
}

export type NumberedEntry = VersionHistoryEntry & { readonly sequence: number };

export interface VersionHistoryOptions {
  readonly store: Store;
  readonly documents: Pick<Documents, 'findById'>;
  /** Notified of versions that are erased. */
  readonly reader: Pick<VersionReader, 'evict'>;
  readonly sequence: Pick<Sequence, 'next'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Entries that one write deletes. */
const batchEntries = 256;
const emptyBytes = new Uint8Array(0);

/**
 * Replaced and deleted versions of collections with `history_days`, and the log of changes that leads from the present
 * back to an earlier state: see docs/decisions/evidence-replay.md. A kept version has its version record and its content
 * like a live one, but it is in no shard.
 */
export class VersionHistory {
  readonly #options: VersionHistoryOptions;

  constructor(options: VersionHistoryOptions) {
    this.#options = options;
  }

  /**
   * Returns the operations that make earlier moments unavailable, for a write after which every change is recorded; none
   * without the setting. Call it in the same turn of the event loop as the write.
   */
  start({ collectionId, historyDays }: Pick<Collection, 'collectionId' | 'historyDays'>): WriteOperation[] {
    const { sequence, now } = this.#options;
    if (historyDays === undefined) return [];
    return [startsTable.put([collectionId], { sequence: sequence.next(), at: now() })];
  }

  /** Returns the first moment whose state is known; undefined without a history. */
  findStart(collectionId: string): HistoryMoment | undefined {
    return startsTable.get(this.#options.store, [collectionId]);
  }

  /** Raw bytes of the kept versions of a collection. */
  countBytes(collectionId: string): number {
    return readCounters(keptBytesTable.get(this.#options.store, [collectionId]), 1)[0]!;
  }

  /** Returns the operations that keep the retired version; include them in the write of the change. */
  record(collectionId: string, { sequence, at, add, retired }: RecordedChange): WriteOperation[] {
    const added = add === null ? {} : { add };
    if (retired?.record === undefined) return [entriesTable.put([collectionId, sequence], { at, ...added })];
    const { documentId, rawHash, path } = retired.record;
    const bytes = retired.hasOwnContent ? retired.bytes : 0;
    const removed: KeptVersion = { version: retired.version, documentId, rawHash, path, bytes };
    return [
      entriesTable.put([collectionId, sequence], { at, ...added, removed }),
      pathsTable.put([collectionId, path, sequence], emptyBytes),
      contentsTable.put([collectionId, documentId, sequence], emptyBytes),
      this.#addBytes(collectionId, bytes),
    ];
  }

  /** Resolves when all changes that searches see are stored. */
  waitForWrites(): Promise<void> {
    return this.#options.store.write([], { mayUseReserve: true });
  }

  /** Returns the last change that is stored, or the start of the history; undefined without a history. */
  async findLast(collectionId: string): Promise<HistoryMoment | undefined> {
    const start = this.findStart(collectionId);
    for await (const { sequence, at } of this.#readBackwards(collectionId))
      return start === undefined || start.sequence < sequence ? { sequence, at } : start;
    return start;
  }

  /**
   * Returns the changes after a moment in their order; null if there are more than `limit`. `isAfter` is false for all
   * changes up to the moment.
   */
  async listAfter(
    collectionId: string,
    isAfter: (entry: NumberedEntry) => boolean,
    limit: number,
  ): Promise<NumberedEntry[] | null> {
    const found: NumberedEntry[] = [];
    for await (const entry of this.#readBackwards(collectionId)) {
      if (!isAfter(entry)) break;
      if (found.length === limit) return null;
      found.push(entry);
    }
    return found.reverse();
  }

  async *#readBackwards(collectionId: string): AsyncGenerator<NumberedEntry, void, void> {
    const all = entriesTable.range(this.#options.store, [collectionId], { reverse: true });
    for await (const { key, value } of all) yield { sequence: key[1], ...value };
  }

  /** Returns the collections with a history, or with the rest of one. */
  async listCollections(): Promise<string[]> {
    const found: string[] = [];
    for await (const { key } of startsTable.range(this.#options.store, [])) found.push(key[0]);
    return found;
  }

  /**
   * Deletes the versions that were removed before `atMin`; null: all, and the history itself. Each write moves the start of
   * the history, so that an interruption leaves a shorter one. Returns the number of deleted entries.
   */
  async trim(
    collectionId: string,
    { atMin, signal }: { readonly atMin: number | null; readonly signal: AbortSignal },
  ): Promise<number> {
    const { store } = this.#options;
    for (let trimmed = 0; ; ) {
      const start = this.findStart(collectionId);
      if (start === undefined || signal.aborted) return trimmed;
      const due = await this.#listFirst(
        collectionId,
        ({ sequence, at }) => atMin === null || at < atMin || sequence <= start.sequence,
      );
      const isUnchanged = startsTable.expect(
        [collectionId],
        (known) => known?.sequence === start.sequence,
        'the history has the same start',
      );
      const last = due.at(-1);
      if (last === undefined) {
        if (atMin === null)
          await store.write([isUnchanged, startsTable.delete([collectionId])], { mayUseReserve: true });
        return trimmed;
      }
      const operations = [isUnchanged];
      if (last.sequence > start.sequence)
        operations.push(startsTable.put([collectionId], { sequence: last.sequence, at: last.at }));
      for (const { sequence, removed } of due) {
        operations.push(entriesTable.delete([collectionId, sequence]));
        if (removed !== undefined) operations.push(...(await this.#release(collectionId, sequence, removed)));
      }
      await store.write(operations, { mayUseReserve: true });
      trimmed += due.length;
    }
  }

  /**
   * Deletes all kept versions of the document with this path; the caller has the lock of the path. `operations` are in
   * each write. Returns whether there were any.
   */
  async erase(collectionId: string, path: string, operations: readonly WriteOperation[]): Promise<boolean> {
    const { store, reader } = this.#options;
    if (this.findStart(collectionId) === undefined) return false;
    for (let isErased = false; ; ) {
      const batch = await this.#listOfPath(collectionId, path);
      if (batch.length === 0) return isErased;
      const all = [...operations];
      for (const { sequence, removed, at, add } of batch) {
        const key = [collectionId, sequence] as const;
        all.push(
          add === undefined ? entriesTable.delete(key) : entriesTable.put(key, { at, add }),
          ...(await this.#release(collectionId, sequence, assertDefined(removed, 'an entry with a path'))),
        );
      }
      try {
        await store.write(all, { mayUseReserve: true });
      } catch (error) {
        // The entries were trimmed meanwhile.
        if (error instanceof ExpectationFailedError && !(await this.#hasEntries(collectionId, batch)))
          continue;
        throw error;
      }
      for (const { removed } of batch) reader.evict(collectionId, removed!.version);
      isErased = true;
    }
  }

  async #hasEntries(collectionId: string, entries: readonly NumberedEntry[]): Promise<boolean> {
    const keys = entries.map(({ sequence }) => [collectionId, sequence] as const);
    return entriesTable.getMany(this.#options.store, keys).every((entry) => entry?.removed !== undefined);
  }

  async #listOfPath(collectionId: string, path: string): Promise<NumberedEntry[]> {
    const { store } = this.#options;
    const sequences: number[] = [];
    for await (const key of pathsTable.keys(store, [collectionId, path], { limit: batchEntries }))
      sequences.push(pathsTable.decodeKey(key)[2]);
    const keys = sequences.map((sequence) => [collectionId, sequence] as const);
    return entriesTable
      .getMany(store, keys)
      .flatMap((entry, i) => (entry?.removed === undefined ? [] : [{ sequence: sequences[i]!, ...entry }]));
  }

  async #listFirst(
    collectionId: string,
    accepts: (entry: NumberedEntry) => boolean,
  ): Promise<NumberedEntry[]> {
    const found: NumberedEntry[] = [];
    const range = { limit: batchEntries };
    for await (const { key, value } of entriesTable.range(this.#options.store, [collectionId], range)) {
      const entry = { sequence: key[1], ...value };
      if (!accepts(entry)) break;
      found.push(entry);
    }
    return found;
  }

  /**
   * Returns the operations that stop keeping a version: its content is deleted unless another version has it. Versions of
   * a document are released in the order of their removal, so that the last one deletes the content.
   */
  async #release(
    collectionId: string,
    sequence: number,
    { version, documentId, rawHash, path, bytes }: KeptVersion,
  ): Promise<WriteOperation[]> {
    const { store, documents, now } = this.#options;
    const isShared =
      documents.findById(documentId) !== undefined ||
      (await isContentKept(store, { collectionId, documentId, sequence }));
    const content = isShared ? null : { documentId, rawHash };
    return [
      entriesTable.expect(
        [collectionId, sequence],
        (known) => known?.removed !== undefined,
        'the version is kept',
      ),
      pathsTable.delete([collectionId, path, sequence]),
      contentsTable.delete([collectionId, documentId, sequence]),
      this.#addBytes(collectionId, -bytes),
      putGarbage({ collectionId, version, content }, now()),
    ];
  }

  #addBytes(collectionId: string, bytes: number): WriteOperation {
    return { type: 'add', key: keptBytesTable.keyOf(collectionId), amounts: [bytes] };
  }
}
