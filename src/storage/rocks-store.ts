import { AppError } from '../core/app-error.ts';
import { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { CommitJournal } from './commit-journal.ts';
import type { PlainOperation } from './evaluate-group.ts';
import { GroupCommit } from './group-commit.ts';
import { groupMarker, storedGroupNumber } from './group-number.ts';
import { checkReopenSpace } from './reopen-space.ts';
import { RocksReader } from './rocks-reader.ts';
import { openRocks, packGroup, type RocksDatabase, type StoreCompression } from './rocksdb.ts';
import type {
  Entry,
  FreeSpaceCheck,
  RangeOptions,
  Store,
  StoreSnapshot,
  StoreStatistics,
  WriteOperation,
  WriteOptions,
} from './store.ts';
import { type GroupWriter, ThreadWriter } from './thread-writer.ts';

export interface RocksStoreOptions {
  /** Folder of the database; created if missing, its parent must exist. */
  readonly location: string;
  readonly logger: Logger;
  /** Size of the cache of uncompressed blocks in bytes. */
  readonly cacheBytes?: number;
  /** None by default. */
  readonly compression?: StoreCompression;
  readonly pendingBytesMax?: number;
  readonly space?: FreeSpaceCheck;
  /** Folder and clock of the journal of commits; without it, none is written. */
  readonly journal?: { readonly folder: string; readonly clock: Pick<Clock, 'now'> };
  /** Shared with other background work; by default a separate one. */
  readonly backgroundScheduler?: BackgroundScheduler;
  /** Replaces the writer thread, so that tests can simulate disk failures. */
  readonly startWriter?: (database: RocksDatabase) => GroupWriter;
}

/** State of a group whose write failed, until the store has recovered. */
interface FailedGroup {
  readonly number: number;
  /** Operations that restore the previous value of every key in the group. */
  readonly undo: readonly PlainOperation[];
}

/**
 * Store on disk: reads run on the calling thread, writes in groups on a separate thread.
 *
 * After a failed write (disk full, I/O error) RocksDB rejects every write until it is reopened, while reads
 * continue. So a failed write rejects its callers, later ones get reserve_reached, and as soon as there is
 * enough space the database is reopened. A rejected group that did reach the log is undone then, which keeps
 * the guarantee that a rejected write is not visible.
 */
export class RocksStore implements Store {
  readonly #options: RocksStoreOptions;
  readonly #commits: GroupCommit;
  readonly #backgroundScheduler: BackgroundScheduler;
  /** Copy of the commits for backups; null without one. */
  readonly journal: CommitJournal | null;
  readonly #reader: RocksReader;
  #writer: GroupWriter;
  #groupNumber: number;
  #reopenCount = 0;
  #failedGroup: FailedGroup | null = null;
  #recoveryTimer: NodeJS.Timeout | null = null;
  #recovery: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  /** Errors: `StoreLockedError` if another process (or this one) has the folder open. */
  static async open(options: RocksStoreOptions): Promise<RocksStore> {
    const database = await openDatabase(options);
    try {
      const journal =
        options.journal === undefined
          ? null
          : await CommitJournal.open(options.journal, storedGroupNumber(database));
      return new RocksStore(options, database, journal);
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  private constructor(options: RocksStoreOptions, database: RocksDatabase, journal: CommitJournal | null) {
    this.journal = journal;
    const pendingBytesMax = options.pendingBytesMax ?? limits.storePendingBytesMax;
    this.#options = options;
    this.#reader = new RocksReader(database, () => this.#closing !== null);
    this.#writer = startWriter(options, database);
    this.#groupNumber = storedGroupNumber(database);
    this.#backgroundScheduler = options.backgroundScheduler ?? new BackgroundScheduler(systemClock);
    this.#commits = new GroupCommit({
      getMany: (keys) => this.getMany(keys),
      commit: (operations) => this.#commit(operations),
      pendingBytesMax,
      groupBytesMax: Math.min(pendingBytesMax, limits.storeGroupBytesMax),
      ...(options.space === undefined ? {} : { space: options.space }),
      backgroundScheduler: this.#backgroundScheduler,
    });
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#reader.getMany([key])[0];
  }

  getMany(keys: readonly Uint8Array[]): (Uint8Array | undefined)[] {
    return this.#reader.getMany(keys);
  }

  range(options: RangeOptions): AsyncGenerator<Entry, void, void> {
    return this.#reader.range(options);
  }

  write(operations: readonly WriteOperation[], options?: WriteOptions): Promise<void> {
    return this.#commits.write(operations, options);
  }

  revisionOf(table: number): number {
    return this.#commits.revisionOf(table) + this.#reopenCount;
  }

  statistics(): StoreStatistics {
    return { ...this.#commits.statistics, liveBytes: this.#reader.database?.estimatedBytes() ?? 0 };
  }

  snapshot(): Promise<StoreSnapshot> {
    return this.#reader.snapshot();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#commits.close();
    if (this.#recoveryTimer !== null) clearTimeout(this.#recoveryTimer);
    await this.#recovery;
    const database = this.#reader.detach();
    await this.#writer.stop();
    if (database !== null) await this.#closeDatabase(database);
  }

  async #commit(operations: readonly PlainOperation[]): Promise<void> {
    if (this.#failedGroup !== null) throw storeNotWritable();
    const number = this.#groupNumber + 1;
    this.#groupNumber = number;
    const group = await this.#pack([...operations, groupMarker(number)]);
    try {
      await this.#write(number, group);
    } catch (error) {
      this.#handleWriteFailure(number, operations, error);
    }
  }

  /** Writes a group to the journal and to the database. */
  async #write(number: number, group: ArrayBuffer): Promise<void> {
    const { journal } = this;
    if (journal === null) return this.#writer.write(group);
    let isWritten = false;
    try {
      await this.#writer.write(group, journal.begin(number));
      isWritten = true;
    } finally {
      const { database } = this.#reader;
      const isDurable = isWritten || (database !== null && storedGroupNumber(database) === number);
      await journal.end(isDurable ? number : null);
    }
  }

  #pack(operations: readonly PlainOperation[]): Promise<ArrayBuffer> {
    return packGroup(operations, this.#backgroundScheduler.slice());
  }

  /**
   * Returns normally if the group turns out to be durable (the thread died after the write); otherwise
   * throws.
   */
  #handleWriteFailure(number: number, operations: readonly PlainOperation[], error: unknown): void {
    const database = this.#reader.requireDatabase();
    // A synced write becomes visible only after it is durable.
    if (storedGroupNumber(database) === number) return;
    const before = database.getMany(operations.map((operation) => operation.key));
    const undo = operations.map(({ key }, index): PlainOperation => {
      const value = before[index];
      return value === undefined ? { type: 'delete', key } : { type: 'put', key, value };
    });
    this.#failedGroup = { number, undo };
    this.#scheduleRecovery();
    this.#options.logger.error({ error: String(error) }, 'store write failed; writes paused until recovery');
    throw storeNotWritable(error);
  }

  #scheduleRecovery(): void {
    if (this.#closing !== null) return;
    this.#recoveryTimer = setTimeout(() => {
      this.#recovery = this.#recover();
    }, limits.storeReopenMs);
  }

  /** Reopens the database once there is enough space for the writes of opening; retries later if it fails. */
  async #recover(): Promise<void> {
    const failed = this.#failedGroup;
    if (failed === null) return;
    try {
      await this.#reopen(failed);
      this.#failedGroup = null;
      this.#options.logger.info({}, 'store writes resumed');
    } catch (error) {
      this.#options.logger.warn({ error: String(error) }, 'store recovery failed, will retry');
      this.#scheduleRecovery();
    }
  }

  async #reopen(failed: FailedGroup): Promise<void> {
    await checkReopenSpace(this.#options.location);
    const failedDatabase = this.#reader.detach();
    await this.#writer.stop();
    if (failedDatabase !== null) await this.#closeDatabase(failedDatabase);
    const database = await openDatabase(this.#options);
    this.#writer = startWriter(this.#options, database);
    try {
      await this.#undo(failed, database);
    } finally {
      this.#reader.attach(database);
      this.#reopenCount += 1;
    }
  }

  /**
   * Undoes the failed group if it is durable. Also verifies that writes succeed: it always writes at least
   * the number of the next group.
   */
  async #undo(failed: FailedGroup, database: RocksDatabase): Promise<void> {
    const isDurable = storedGroupNumber(database) === failed.number;
    this.#groupNumber += 1;
    const marker = groupMarker(this.#groupNumber);
    const group = await this.#pack(isDurable ? [...failed.undo, marker] : [marker]);
    await this.#write(this.#groupNumber, group);
  }

  /** Closes a database. After an error it refuses to flush on close; acknowledged data are in its log. */
  async #closeDatabase(database: RocksDatabase): Promise<void> {
    try {
      await database.close();
    } catch (error) {
      this.#options.logger.warn({ error: String(error) }, 'closing the store failed');
    }
  }
}

function openDatabase(options: RocksStoreOptions): Promise<RocksDatabase> {
  return openRocks({
    location: options.location,
    cacheBytes: options.cacheBytes ?? limits.storeCacheBytes,
    ...(options.compression === undefined ? {} : { compression: options.compression }),
  });
}

function startWriter(options: RocksStoreOptions, database: RocksDatabase): GroupWriter {
  return options.startWriter === undefined
    ? new ThreadWriter(database.handle)
    : options.startWriter(database);
}

function storeNotWritable(cause?: unknown): AppError {
  return new AppError(
    'reserve_reached',
    'The data directory is not writable (the disk may be full). Nothing was changed; reads still work. Try again later.',
    { retryAfterMs: 5_000, cause },
  );
}
