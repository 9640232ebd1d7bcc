import { mkdir } from 'node:fs/promises';
import { AppError } from '../core/app-error.ts';
import { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import { sleepUntilAbort } from '../core/async/sleep-until-abort.ts';
import { systemClock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import { postgresLimits } from '../core/postgres-limits.ts';
import { shuttingDownError } from '../core/shutting-down-error.ts';
import type { PlainOperation } from './evaluate-group.ts';
import { GroupCommit } from './group-commit.ts';
import { groupMarker } from './group-number.ts';
import { openPostgresCache, type PostgresCache, type PostgresCacheOptions } from './postgres-cache.ts';
import {
  type CellGroup,
  type CellOptions,
  FencedError,
  OutcomeUnknownError,
  PostgresCell,
} from './postgres-cell.ts';
import { checkReopenSpace } from './reopen-space.ts';
import { RocksReader } from './rocks-reader.ts';
import { packGroup } from './rocksdb.ts';
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
import type { GroupWriter } from './thread-writer.ts';

export interface PostgresStoreOptions extends PostgresCacheOptions, Pick<CellOptions, 'url' | 'cell'> {
  readonly random: Pick<Random, 'uuid'>;
  /** Interval of the checks that this process still owns the cell, while nothing is written; absent: none. */
  readonly checkMs?: number;
  /** Commits whose deletions the checks keep; by default `postgresLimits.keptCommits`. */
  readonly keptCommits?: number;
  readonly pendingBytesMax?: number;
  readonly space?: FreeSpaceCheck;
  /** Shared with other background work; by default a separate one. */
  readonly backgroundScheduler?: BackgroundScheduler;
}

/**
 * `recovering`: the outcome of a commit is unknown, or the cache is behind. `fenced`: another process writes. `diverged`:
 * PostgreSQL has lost commits that this process has.
 */
type WriteState = 'open' | 'recovering' | 'fenced' | 'diverged';

/** State of the connection, for operators. */
export interface PostgresState {
  /** `unreachable`: the last check failed; the next write connects again. */
  readonly state: WriteState | 'unreachable';
  readonly epoch: number;
  /** Number of the last commit in PostgreSQL that this process knows, and of the last one in its cache. */
  readonly head: number;
  readonly position: number;
}

/**
 * Store whose source of truth is PostgreSQL: a group is first committed there, in one transaction, and then
 * applied to a local copy that serves all reads.
 *
 * - PostgreSQL is unreachable: writes get `unavailable`, reads continue.
 * - The connection is lost during a commit: its writers wait until PostgreSQL tells the outcome, and the group is
 *   committed again if it was not; new writes get `unavailable` meanwhile. If the store is closed before that, the
 *   writers get `unavailable`, and the next start has the writes if they were committed.
 * - The copy cannot be written (disk full): it is reopened and loads the missing rows, before the writers continue.
 * - Another process takes over the cell: writes get `FencedError` from then on.
 * - PostgreSQL was restored to an earlier commit: writes get `DivergedError` until the process is restarted, because
 *   the indexes and caches in its memory have the lost commits.
 */
export class PostgresStore implements Store {
  readonly #options: PostgresStoreOptions;
  readonly #cellOptions: CellOptions;
  readonly #scheduler: BackgroundScheduler;
  readonly #commits: GroupCommit;
  readonly #reader: RocksReader;
  readonly #recoveryAbort = new AbortController();
  #cell: PostgresCell;
  #writer: GroupWriter;
  /** Sequence number of the last commit in the cache. */
  #position: number;
  #reopenCount = 0;
  #state: WriteState = 'open';
  #isReachable = true;
  /** Settles with the running check; never rejects. */
  #checking: Promise<void> = Promise.resolve();
  readonly #watching: Promise<void>;
  #closing: Promise<void> | null = null;

  /**
   * Takes over the cell and loads the rows that the cache does not have. Errors: `AppError` unavailable,
   * `StoreLockedError` if another process (or this one) has the folder open.
   */
  static async open(options: PostgresStoreOptions): Promise<PostgresStore> {
    const { url, cell, random } = options;
    const cellOptions = { url, cell, owner: random.uuid() };
    const scheduler = options.backgroundScheduler ?? new BackgroundScheduler(systemClock);
    const cache = await openPostgresCache(options, () => PostgresCell.take(cellOptions), scheduler);
    return new PostgresStore(options, cellOptions, scheduler, cache);
  }

  private constructor(
    options: PostgresStoreOptions,
    cellOptions: CellOptions,
    scheduler: BackgroundScheduler,
    cache: PostgresCache,
  ) {
    const pendingBytesMax = options.pendingBytesMax ?? limits.storePendingBytesMax;
    this.#options = options;
    this.#cellOptions = cellOptions;
    this.#scheduler = scheduler;
    this.#cell = cache.cell;
    this.#reader = new RocksReader(cache.database, () => this.#closing !== null);
    this.#writer = cache.writer;
    this.#position = cache.cell.head;
    this.#commits = new GroupCommit({
      getMany: (keys) => this.getMany(keys),
      commit: (operations) => this.#commit(operations),
      pendingBytesMax,
      groupBytesMax: Math.min(pendingBytesMax, limits.storeGroupBytesMax),
      ...(options.space === undefined ? {} : { space: options.space }),
      backgroundScheduler: scheduler,
    });
    this.#watching = options.checkMs === undefined ? Promise.resolve() : this.#watch(options.checkMs);
  }

  /** ID of the history of commits in PostgreSQL. */
  get incarnation(): string {
    return this.#cell.incarnation;
  }

  get postgresState(): PostgresState {
    const state = this.#state === 'open' && !this.#isReachable ? 'unreachable' : this.#state;
    const { epoch, head } = this.#cell;
    return { state, epoch, head, position: this.#position };
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
    if (this.#closing === null) {
      if (this.#state === 'fenced') return Promise.reject(new FencedError());
      if (this.#state === 'diverged') return Promise.reject(new DivergedError());
      if (this.#state === 'recovering') return Promise.reject(recoveringError());
    }
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
    this.#recoveryAbort.abort();
    await this.#commits.close();
    await this.#watching;
    await this.#closeCache();
    await this.#cell.close();
  }

  async #commit(operations: readonly PlainOperation[]): Promise<void> {
    await this.#checking;
    try {
      await this.#connect();
      await this.#commitToCell({ id: this.#options.random.uuid(), operations });
      await this.#applyToCache(operations);
      this.#isReachable = true;
    } catch (error) {
      this.#setFinalState(error);
      throw error;
    }
  }

  #setFinalState(error: unknown): void {
    if (error instanceof FencedError) this.#state = 'fenced';
    if (error instanceof DivergedError) this.#state = 'diverged';
  }

  async #watch(checkMs: number): Promise<void> {
    const { signal } = this.#recoveryAbort;
    while (!signal.aborted) {
      await sleepUntilAbort(checkMs, signal);
      const isIdle = this.#state === 'open' && this.#commits.statistics.pendingWrites === 0;
      if (!isIdle || signal.aborted) continue;
      this.#checking = this.#check();
      await this.#checking;
    }
  }

  /** A write that arrives meanwhile waits for the end of the check, which uses the same connection. */
  async #check(): Promise<void> {
    try {
      await this.#connect();
      await this.#cell.confirm();
      await this.#cell.removeDeletions(this.#options.keptCommits ?? postgresLimits.keptCommits);
      if (!this.#isReachable) this.#options.logger.info({}, 'PostgreSQL is reachable again');
      this.#isReachable = true;
    } catch (error) {
      this.#setFinalState(error);
      if (this.#state !== 'open') {
        this.#options.logger.error({ error: String(error) }, 'this server can no longer write');
        return;
      }
      if (this.#isReachable)
        this.#options.logger.warn({ error: describedCause(error) }, 'PostgreSQL is unreachable');
      this.#isReachable = false;
    }
  }

  /** Tries twice: a restart of PostgreSQL, or a connection that it closed, rejects no write. */
  async #commitToCell(group: CellGroup): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#cell.commit(group, this.#scheduler.slice());
        return;
      } catch (error) {
        if (!(error instanceof OutcomeUnknownError)) throw error;
        await this.#retry(() => this.#connect());
        if (this.#cell.lastGroup === group.id) return;
        // Nothing was committed, and the lost connection can no longer commit: its epoch has ended.
        if (attempt === 2) throw notCommittedError(error);
      }
    }
  }

  /** Errors: `FencedError`, `DivergedError`, `AppError` unavailable. */
  async #connect(): Promise<void> {
    if (!this.#cell.isLost) return;
    this.#cell = await PostgresCell.retake(this.#cellOptions);
    // PostgreSQL was restored, or a standby took over that did not have all commits.
    if (this.#cell.head < this.#position) throw new DivergedError();
  }

  /** Applies the group that was just committed. */
  async #applyToCache(operations: readonly PlainOperation[]): Promise<void> {
    const number = this.#position + 1;
    try {
      if (number !== this.#cell.head) throw new Error('commits are missing in the cache');
      await this.#writer.write(
        await packGroup([...operations, groupMarker(number)], this.#scheduler.slice()),
      );
      this.#position = number;
    } catch (error) {
      this.#options.logger.error(
        { error: String(error) },
        'cache write failed; writes paused until recovery',
      );
      await this.#retry(() => this.#reloadCache());
    }
  }

  /** Reopens the cache, which then loads the rows that it does not have. Reads are rejected meanwhile. */
  async #reloadCache(): Promise<void> {
    const { location } = this.#options;
    await this.#connect();
    await mkdir(location, { recursive: true, mode: 0o700 });
    await checkReopenSpace(location);
    await this.#closeCache();
    const cache = await openPostgresCache(this.#options, async () => this.#cell, this.#scheduler);
    this.#writer = cache.writer;
    this.#position = this.#cell.head;
    this.#reopenCount += 1;
    this.#reader.attach(cache.database);
  }

  async #closeCache(): Promise<void> {
    const database = this.#reader.detach();
    await this.#writer.stop();
    // After a failed write, RocksDB refuses to flush; PostgreSQL has the data.
    await database?.close().catch((error: unknown) => {
      this.#options.logger.warn({ error: String(error) }, 'closing the cache failed');
    });
  }

  /** Repeats a step of the recovery until it succeeds, the cell is fenced or the store is closed. */
  async #retry(step: () => Promise<void>): Promise<void> {
    const { signal } = this.#recoveryAbort;
    this.#state = 'recovering';
    for (;;) {
      try {
        await step();
        this.#state = 'open';
        return;
      } catch (error) {
        if (error instanceof FencedError || error instanceof DivergedError) throw error;
        this.#options.logger.warn({ error: String(error) }, 'recovery from PostgreSQL failed, will retry');
      }
      await sleepUntilAbort(limits.storeReopenMs, signal);
      if (signal.aborted) throw shuttingDownError();
    }
  }
}

/** PostgreSQL does not have all commits of this process. */
class DivergedError extends AppError {
  constructor() {
    super(
      'unavailable',
      'PostgreSQL was restored to an earlier state than this server has. Nothing was changed. The operator must restart the server.',
      { retryAfterMs: 5_000 },
    );
  }
}

function describedCause(error: unknown): string {
  return String((error as Error).cause ?? error);
}

function recoveringError(): AppError {
  return new AppError(
    'unavailable',
    'The store waits for PostgreSQL. Nothing was changed; reads still work. Try again shortly.',
    { retryAfterMs: 1_000 },
  );
}

function notCommittedError(cause: unknown): AppError {
  return new AppError(
    'unavailable',
    'The connection to PostgreSQL was lost. Nothing was changed; reads still work. Try again shortly.',
    { retryAfterMs: 1_000, cause },
  );
}
