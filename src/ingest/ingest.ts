import { AppError } from '../core/app-error.ts';
import type { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import { waitForAll } from '../core/async/wait-for-all.ts';
import type { Clock } from '../core/clock.ts';
import { describedError } from '../core/described-error.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { ModelError } from '../core/model-error.ts';
import { PendingVersions } from '../index/pending-versions.ts';
import type { ParseProgress } from '../parsing/tools/document-tools.ts';
import type { DocumentRecord } from '../storage/documents.ts';
import { type Job, JobQueue } from '../storage/jobs.ts';
import type { Metadata } from '../storage/metadata-codec.ts';
import { ExpectationFailedError, type Store } from '../storage/store.ts';
import { AbandonedError, type ChunkedContent, type DocumentTransitions } from './document-transitions.ts';
import type { IngestSteps, StepFailure } from './ingest-steps.ts';
import type { MemoryLimit } from './memory-limit.ts';

export interface IngestOptions {
  readonly store: Store;
  readonly transitions: DocumentTransitions;
  readonly steps: IngestSteps;
  /** While the limit is reached, no more rows are added to the shards. */
  readonly memory: Pick<MemoryLimit, 'isReached'>;
  readonly clock: Clock;
  readonly backgroundScheduler: BackgroundScheduler;
  readonly logger: Logger;
  /** Whether the log may contain document text: not while an organization has zero data retention. */
  readonly mayLogContent: () => boolean;
  /**
   * Maximum number of documents parsed concurrently, of those chunked, embedded and indexed concurrently, and
   * the memory of the latter.
   */
  readonly parallel: { readonly parse: number; readonly index: number; readonly indexBytes: number };
}

/** A document that is being parsed, and its progress. */
export interface ParsingDocument extends ParseProgress {
  readonly collectionId: string;
  readonly path: string;
  readonly elapsedMs: number;
}

/** Attempts at one step before the document fails for an internal reason. */
const attemptsMax = 4;
/** Attempts after a model error: it usually repeats, unless its cause was transient. */
const modelAttemptsMax = 2;
/** Milliseconds before the second attempt; each further one waits four times as long. */
const retryMsInitial = 500;
const retryFactor = 4;

/**
 * Bounds an organization's turn at the parsers: switching to another organization costs a fresh process,
 * about 200 ms of processor time.
 */
const parseTurnLimits = { jobsMax: 64, msMax: 2_000 };

/** Milliseconds between two checks for available memory. */
const memoryPollMs = 250;
/** A shortage of memory is logged once; the next is logged only after this many milliseconds without one. */
const shortageLogIntervalMs = 60_000;

const internalFailureMessage = 'Processing failed because of an internal error. See the server log.';

interface Lane {
  readonly queue: JobQueue;
  readonly runningMax: number;
  running: number;
  /** Approximate memory of the running jobs. */
  bytes: number;
  /**
   * Job whose turn it is but that does not fit yet. No other job overtakes it, so the order of organizations
   * is kept.
   */
  blockedJob: Job | null;
  timer: NodeJS.Timeout | null;
}

/**
 * Moves documents through parse, chunk, embed and index. Pending work is durable in the store; this class
 * only decides what runs when. Parsing has its own lane, so that texts never wait for slow files.
 */
export class Ingest {
  readonly #options: IngestOptions;
  readonly #lanes: { readonly parse: Lane; readonly index: Lane };
  readonly #running = new Map<number, { readonly job: Job; readonly controller: AbortController }>();
  /** Versions that wait or are in progress and are still needed. */
  readonly #pending: PendingVersions;
  /** Documents being parsed, by version. */
  readonly #parsing = new Map<number, ParsingDocument & { readonly startedAt: number }>();
  readonly #waiters = new Map<number, Set<(abandoned: DocumentRecord | null) => void>>();
  readonly #runs = new Set<Promise<void>>();
  /** Time of the most recent memory shortage. */
  #memoryShortageAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  /** Reads the unfinished jobs; `start` begins to work on them. */
  static async open(options: IngestOptions): Promise<Ingest> {
    const parse = await JobQueue.open(options.store, (job) => job.step === 'parse', parseTurnLimits);
    const pending = new PendingVersions();
    const index = await JobQueue.open(options.store, (job) => {
      pending.add(job);
      return job.step !== 'parse';
    });
    return new Ingest(options, { parse, index }, pending);
  }

  private constructor(
    options: IngestOptions,
    queues: { parse: JobQueue; index: JobQueue },
    pending: PendingVersions,
  ) {
    this.#options = options;
    this.#pending = pending;
    const lane = (queue: JobQueue, runningMax: number): Lane => ({
      queue,
      runningMax,
      running: 0,
      bytes: 0,
      blockedJob: null,
      timer: null,
    });
    this.#lanes = {
      parse: lane(queues.parse, options.parallel.parse),
      index: lane(queues.index, options.parallel.index),
    };
  }

  /** Number of documents that wait or are in progress. */
  get depth(): number {
    return Object.values(this.#lanes).reduce((sum, { queue }) => sum + queue.waiting + queue.claimed, 0);
  }

  /** Number of documents of an organization that wait or are in progress. */
  countPendingOf(organizationId: string): number {
    return this.#pending.countOf(organizationId);
  }

  get organizationCount(): number {
    return this.#pending.organizationCount;
  }

  /** Depth by lane, for the metrics. */
  depths(): Record<'parse' | 'index', number> {
    const of = ({ queue }: Lane) => queue.waiting + queue.claimed;
    return { parse: of(this.#lanes.parse), index: of(this.#lanes.index) };
  }

  /** Number of documents that wait for available memory. */
  get waitingForMemory(): number {
    return this.#options.memory.isReached ? this.#lanes.index.queue.waiting : 0;
  }

  /** Returns the parse progress of a version; null when it is not being parsed. */
  findParsing(version: number): ParsingDocument | null {
    const found = this.#parsing.get(version);
    if (found === undefined) return null;
    return { ...found, elapsedMs: this.#options.clock.monotonic() - found.startedAt };
  }

  /** Returns all documents of a collection that are being parsed. */
  listParsing(collectionId: string): ParsingDocument[] {
    return [...this.#parsing].flatMap(([version, document]) =>
      document.collectionId === collectionId ? (this.findParsing(version) ?? []) : [],
    );
  }

  start(): void {
    for (const lane of Object.values(this.#lanes)) this.#pump(lane);
  }

  /** Adds a job whose record is durable. */
  enqueue(job: Job): void {
    if (this.#closed) return;
    const lane = this.#laneOf(job);
    this.#pending.add(job);
    lane.queue.offer(job);
    this.#pump(lane);
  }

  /**
   * Runs matching postponed jobs now, because the cause of the delay is gone. Jobs with failed attempts keep
   * their delay.
   */
  retryNow(matches: (collectionId: string) => boolean): void {
    for (const lane of Object.values(this.#lanes)) {
      lane.queue.makeDue((job) => job.attempts === 0 && matches(job.collectionId));
      this.#pump(lane);
    }
  }

  /** Stops work on the version of a record that is no longer needed, and resolves its waiters. */
  abandon(record: DocumentRecord): void {
    this.#running.get(record.version)?.controller.abort(new AbandonedError());
    this.#notifyWaiters(record.version, record);
  }

  /** Stops the running jobs of a deleted collection; waiting jobs end at their turn. */
  abandonCollection(collectionId: string): void {
    for (const { job, controller } of this.#running.values()) {
      if (job.collectionId === collectionId) controller.abort(new AbandonedError());
    }
  }

  /**
   * Resolves when the version is indexed, has failed or is abandoned, at once if it has no pending work, and
   * when `signal` aborts. Returns the last record of a version whose document is overwritten or deleted
   * during the wait, else null: the store then has the record.
   */
  waitUntilSettled(version: number, signal: AbortSignal): Promise<DocumentRecord | null> {
    return new Promise((resolve) => {
      const done = (abandoned: DocumentRecord | null) => {
        signal.removeEventListener('abort', onAbort);
        const waiters = this.#waiters.get(version);
        waiters?.delete(done);
        if (waiters?.size === 0) this.#waiters.delete(version);
        resolve(abandoned);
      };
      const onAbort = () => done(null);
      if (signal.aborted || !this.#pending.has(version)) return resolve(null);
      signal.addEventListener('abort', onAbort);
      const waiters = this.#waiters.get(version) ?? new Set();
      this.#waiters.set(version, waiters.add(done));
    });
  }

  /** Stops the work; unfinished jobs continue at the next start. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const lane of Object.values(this.#lanes)) if (lane.timer !== null) clearTimeout(lane.timer);
    for (const { controller } of this.#running.values()) controller.abort(new AbandonedError());
    await Promise.all(this.#runs);
  }

  #laneOf(job: Job): Lane {
    return job.step === 'parse' ? this.#lanes.parse : this.#lanes.index;
  }

  /** Starts jobs while there is capacity; a job larger than the whole memory bound runs alone. */
  #pump(lane: Lane): void {
    while (!this.#closed && lane.running < lane.runningMax) {
      if (lane === this.#lanes.index && this.#lacksMemory(lane)) return;
      lane.blockedJob ??= lane.queue.claim(this.#options.clock.now());
      const job = lane.blockedJob;
      if (job === null) {
        this.#scheduleNext(lane);
        return;
      }
      const record = this.#findRecord(job);
      const bytes = record === null ? 0 : estimateIndexingBytes(record);
      if (lane.bytes > 0 && lane.bytes + bytes > this.#options.parallel.indexBytes) return;
      lane.blockedJob = null;
      this.#startJob(lane, job, { record, bytes });
    }
  }

  #startJob(
    lane: Lane,
    job: Job,
    { record, bytes }: { readonly record: DocumentRecord | null; readonly bytes: number },
  ): void {
    lane.running += 1;
    lane.bytes += bytes;
    const run = this.#run(job, record).then((next) => {
      lane.running -= 1;
      lane.bytes -= bytes;
      this.#runs.delete(run);
      lane.queue.complete(job.version);
      if (next === null) this.#notifyWaiters(job.version, null);
      else this.enqueue(next);
      this.#pump(lane);
    });
    this.#runs.add(run);
  }

  /** Returns the current record of a document to be indexed; null if its first step must determine the state. */
  #findRecord(job: Job): DocumentRecord | null {
    if (job.step === 'parse') return null;
    try {
      return this.#options.transitions.getCurrent(job);
    } catch {
      // The version is abandoned or the store cannot be read: the first step finds out which.
      return null;
    }
  }

  /**
   * Returns whether the memory is used up. Documents then wait in the store, and the lane checks again soon.
   * Parsing continues: parsers run in processes of their own, and their results go to disk.
   */
  #lacksMemory(lane: Lane): boolean {
    const { memory, clock, logger } = this.#options;
    if (lane.queue.waiting === 0 || !memory.isReached) return false;
    const now = clock.monotonic();
    if (now - this.#memoryShortageAt > shortageLogIntervalMs)
      logger.warn(
        { documents: lane.queue.waiting },
        'memory limit (QUARRY_MEMORY_BYTES_MAX) reached, ingest paused',
      );
    this.#memoryShortageAt = now;
    this.#scheduleIn(lane, memoryPollMs);
    return true;
  }

  #scheduleNext(lane: Lane): void {
    const due = lane.queue.nextDue();
    this.#scheduleIn(lane, due === null ? null : Math.max(1, due - this.#options.clock.now()));
  }

  /** `ms`: null to clear the timer without setting a new one. */
  #scheduleIn(lane: Lane, ms: number | null): void {
    if (lane.timer !== null) clearTimeout(lane.timer);
    lane.timer = ms === null ? null : setTimeout(() => this.#pump(lane), ms).unref();
  }

  /**
   * Runs one job as far as its lane goes. Returns the next job or null. Never rejects. `record`: the record
   * of the document if it was already read in this turn of the event loop.
   */
  async #run(job: Job, record: DocumentRecord | null): Promise<Job | null> {
    const controller = new AbortController();
    this.#running.set(job.version, { job, controller });
    try {
      return await this.#step(job, record ?? this.#options.transitions.getCurrent(job), controller.signal);
    } catch (error) {
      return await this.#recover(job, error);
    } finally {
      this.#running.delete(job.version);
    }
  }

  async #step(job: Job, record: DocumentRecord, signal: AbortSignal): Promise<Job | null> {
    const { transitions, steps } = this.#options;
    if (job.step === 'parse') {
      transitions.checkCapacity();
      await transitions.markStarted(job, 'parsing');
      const outcome = await this.#parse(job, record, signal);
      return 'failure' in outcome
        ? await this.#fail(job, 'parsing_failed', outcome.failure)
        : await transitions.storeParsed(job, outcome);
    }
    const needsChunks = job.step === 'chunk' && steps.needsChunks(record);
    if (needsChunks) transitions.checkCapacity();
    if (needsChunks && steps.isSmall(record)) {
      await this.#indexSmall(job, record, signal);
      return null;
    }
    await transitions.markStarted(job, 'indexing');
    if (needsChunks) job = await transitions.storeChunked(job, await steps.chunk(record, signal));
    await this.#index(job, { record, content: null, signal });
    return null;
  }

  async #parse(job: Job, record: DocumentRecord, signal: AbortSignal): ReturnType<IngestSteps['parse']> {
    const { steps, clock } = this.#options;
    const { collectionId, path } = job;
    const known = { collectionId, path, elapsedMs: 0, startedAt: clock.monotonic() };
    const report = (progress: ParseProgress) => this.#parsing.set(job.version, { ...known, ...progress });
    report({ stage: 'waiting', page: 0, of: null });
    try {
      return await steps.parse(record, job.organizationId, { signal, onProgress: report });
    } finally {
      this.#parsing.delete(job.version);
    }
  }

  /** Stores a small document while its rows are being staged, without an intermediate status. */
  async #indexSmall(job: Job, record: DocumentRecord, signal: AbortSignal): Promise<void> {
    const { transitions, steps } = this.#options;
    const content = await steps.chunk(record, signal);
    try {
      await this.#index(job, { record, content, signal });
    } catch (error) {
      // The shard or the store is busy, perhaps for minutes: store the content, so that only the indexing is
      // retried.
      if (isTransient(error)) await transitions.storeChunked(job, content);
      throw error;
    }
  }

  /** `content`: content not stored yet, or null. */
  async #index(
    job: Job,
    {
      record,
      content,
      signal,
    }: {
      readonly record: DocumentRecord;
      readonly content: ChunkedContent | null;
      readonly signal: AbortSignal;
    },
  ): Promise<void> {
    const { transitions, steps, backgroundScheduler, logger } = this.#options;
    try {
      await waitForAll([
        steps.stage(record, content?.block ?? null, signal),
        ...(content === null ? [] : [transitions.storePrepared(job, content)]),
      ]);
      await backgroundScheduler.yield();
      signal.throwIfAborted();
      await transitions.publishIndexed(job, content);
    } catch (error) {
      steps.unstage(record);
      throw error;
    }
    logger.debug({ documentId: job.documentId, version: job.version }, 'document indexed');
  }

  async #fail(job: Job, status: 'parsing_failed' | 'indexing_failed', failure: StepFailure): Promise<null> {
    const { transitions, logger } = this.#options;
    const retryable = failure.code === 'timeout' || failure.code === 'memory' || failure.code === 'crash';
    await transitions.markFailed(job, status, { ...failure, retryable });
    logger.info({ documentId: job.documentId, code: failure.code, status }, 'document failed');
    return null;
  }

  /** Handles the error of a step: ends, fails or postpones the job. */
  async #recover(job: Job, error: unknown): Promise<Job | null> {
    const { clock, logger, mayLogContent, transitions } = this.#options;
    if (this.#closed || error instanceof AbandonedError || error instanceof ExpectationFailedError)
      return null;
    if (this.#isAbandoned(job)) return null;
    try {
      // A store or pool that is busy is not the fault of the document: the attempt does not count.
      if (isTransient(error)) {
        return { ...job, notBefore: clock.now() + error.options.retryAfterMs };
      }
      // A model that rejects a text will reject it again.
      if (error instanceof AppError && error.code === 'bad_request')
        return await this.#fail(job, 'indexing_failed', { code: 'unsupported', message: error.message });
      const attempts = job.attempts + 1;
      logger.error(
        {
          documentId: job.documentId,
          step: job.step,
          attempts,
          error: describedError(error, mayLogContent()),
        },
        'ingest step failed',
      );
      if (attempts >= (error instanceof ModelError ? modelAttemptsMax : attemptsMax)) {
        const status = job.step === 'parse' ? 'parsing_failed' : 'indexing_failed';
        return await this.#fail(job, status, {
          code: 'crash',
          message: `${error instanceof ModelError ? error.publicMessage : internalFailureMessage} Set index_status to retry.`,
        });
      }
      const notBefore = clock.now() + retryMsInitial * retryFactor ** (attempts - 1);
      const next = { ...job, attempts, notBefore };
      await transitions.markPostponed(next);
      return next;
    } catch (second) {
      if (this.#closed || second instanceof AbandonedError || second instanceof ExpectationFailedError)
        return null;
      logger.error(
        { documentId: job.documentId, error: describedError(second, mayLogContent()) },
        'recording an ingest failure failed',
      );
      return { ...job, notBefore: clock.now() + retryMsInitial * retryFactor };
    }
  }

  #isAbandoned(job: Job): boolean {
    try {
      this.#options.transitions.getCurrent(job);
      return false;
    } catch (error) {
      // An unreadable store gives no information about the document.
      return error instanceof AbandonedError;
    }
  }

  #notifyWaiters(version: number, abandoned: DocumentRecord | null): void {
    this.#pending.delete(version);
    for (const resolve of this.#waiters.get(version) ?? []) resolve(abandoned);
  }
}

/** Whether the error is temporary. */
function isTransient(error: unknown): error is AppError & { options: { retryAfterMs: number } } {
  return error instanceof AppError && error.options.retryAfterMs !== undefined;
}

/**
 * Returns the approximate memory for chunking, embedding and indexing a document. Parsing runs in processes
 * with a bound of their own.
 */
function estimateIndexingBytes({ textBytes, metadata, vectorBytes = 0 }: DocumentRecord): number {
  return limits.indexingBytesPerTextByte * textBytes + vectorBytes + countMetadataUnits(metadata);
}

function countMetadataUnits(metadata: Metadata): number {
  let units = 0;
  for (const [name, value] of Object.entries(metadata)) {
    units += name.length;
    for (const text of typeof value === 'string' ? [value] : value) units += text.length;
  }
  return units;
}
