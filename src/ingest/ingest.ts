import { limits } from '../core/limits.ts';
import { PendingVersions } from '../index/pending-versions.ts';
import type { DocumentRecord } from '../storage/documents.ts';
import { type Job, JobQueue } from '../storage/jobs.ts';
import type { Metadata } from '../storage/metadata-codec.ts';
import type { Store } from '../storage/store.ts';
import { JobRunner, type JobRunnerOptions, type ParsingDocument } from './job-runner.ts';
import type { MemoryLimit } from './memory-limit.ts';

export interface IngestOptions extends JobRunnerOptions {
  readonly store: Store;
  /** While the limit is reached, no more rows are added to the shards. */
  readonly memory: Pick<MemoryLimit, 'isReached'>;
  /**
   * Maximum number of documents parsed concurrently, of those chunked, embedded and indexed concurrently, and
   * the memory of the latter.
   */
  readonly parallel: { readonly parse: number; readonly index: number; readonly indexBytes: number };
}

/**
 * Bounds an organization's turn at the parsers: switching to another organization costs a fresh process,
 * about 200 ms of processor time.
 */
const parseTurnLimits = { jobsMax: 64, msMax: 2_000 };

/** Milliseconds between two checks for available memory. */
const memoryPollMs = 250;
/** A shortage of memory is logged once; the next is logged only after this many milliseconds without one. */
const shortageLogIntervalMs = 60_000;

interface Lane {
  readonly queue: JobQueue;
  readonly runningMax: number;
  running: number;
  /** Approximate memory of the running jobs. */
  bytes: number;
  /**
   * Next job in turn, for which there is not enough memory yet. No other job overtakes it, so the order of
   * organizations is kept.
   */
  blockedJob: Job | null;
  timer: NodeJS.Timeout | null;
  /** Set while jobs that arrived in this turn of the event loop wait for its end, to share a batch. */
  scheduledPump: NodeJS.Immediate | null;
}

/** A claimed job, its record if it is already read, and the approximate memory for it. */
interface ClaimedJob {
  readonly job: Job;
  readonly record: DocumentRecord | null;
  readonly bytes: number;
}
type SmallJob = ClaimedJob & { readonly record: DocumentRecord };

/**
 * Moves documents through parse, chunk, embed and index. Pending work is durable in the store; this class
 * only decides what runs when. Parsing has its own lane, so that texts never wait for slow files.
 */
export class Ingest {
  readonly #options: IngestOptions;
  readonly #lanes: { readonly parse: Lane; readonly index: Lane };
  readonly #runner: JobRunner;
  /** Versions that wait or are in progress and are still needed. */
  readonly #pending: PendingVersions;
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
    this.#runner = new JobRunner(options);
    this.#pending = pending;
    const lane = (queue: JobQueue, runningMax: number): Lane => ({
      queue,
      runningMax,
      running: 0,
      bytes: 0,
      blockedJob: null,
      timer: null,
      scheduledPump: null,
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

  /** Whether a document can be indexed at once: none waits for it, and the memory is not used up. */
  hasCapacity(): boolean {
    return !this.#closed && this.#lanes.index.queue.waiting === 0 && !this.#options.memory.isReached;
  }

  /** Returns the parse progress of a version; null when it is not being parsed. */
  findParsing(version: number): ParsingDocument | null {
    return this.#runner.findParsing(version);
  }

  /** Returns all documents of a collection that are being parsed. */
  listParsing(collectionId: string): ParsingDocument[] {
    return this.#runner.listParsing(collectionId);
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
    lane.scheduledPump ??= setImmediate(() => {
      lane.scheduledPump = null;
      this.#pump(lane);
    });
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
    this.#runner.abandon(record.version);
    this.#notifyWaiters(record.version, record);
  }

  /** Stops the running jobs of a deleted collection; waiting jobs end at their turn. */
  abandonCollection(collectionId: string): void {
    this.#runner.abandonCollection(collectionId);
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
    for (const { timer, scheduledPump } of Object.values(this.#lanes)) {
      if (timer !== null) clearTimeout(timer);
      if (scheduledPump !== null) clearImmediate(scheduledPump);
    }
    this.#runner.close();
    await Promise.all(this.#runs);
  }

  #laneOf(job: Job): Lane {
    return job.step === 'parse' ? this.#lanes.parse : this.#lanes.index;
  }

  /** Starts jobs while there is capacity, small documents of a collection in batches. */
  #pump(lane: Lane): void {
    const batches = new Map<string, SmallJob[]>();
    for (let claimed = this.#claim(lane); claimed !== null; claimed = this.#claim(lane)) {
      const { job, record, bytes } = claimed;
      lane.running += 1;
      lane.bytes += bytes;
      if (record === null || !this.#runner.canJoinBatch(job, record)) {
        const run = this.#runner.run(job, record);
        this.#track(
          lane,
          [claimed],
          run.then((next) => [next]),
        );
        continue;
      }
      const batch = batches.get(job.collectionId) ?? [];
      batches.set(job.collectionId, batch);
      batch.push({ job, record, bytes });
      if (isFullBatch(batch)) {
        batches.delete(job.collectionId);
        this.#track(lane, batch, this.#runner.runBatch(batch));
      }
    }
    for (const batch of batches.values()) this.#track(lane, batch, this.#runner.runBatch(batch));
  }

  /**
   * Claims the next job if there is capacity for it; a job larger than the whole memory bound runs alone. Null
   * if there is none now.
   */
  #claim(lane: Lane): ClaimedJob | null {
    if (this.#closed || lane.running >= lane.runningMax) return null;
    if (lane === this.#lanes.index && this.#lacksMemory(lane)) return null;
    lane.blockedJob ??= lane.queue.claim(this.#options.clock.now());
    const job = lane.blockedJob;
    if (job === null) {
      this.#scheduleNext(lane);
      return null;
    }
    const record = this.#findRecord(job);
    const bytes = record === null ? 0 : estimateIndexingBytes(record);
    if (lane.bytes > 0 && lane.bytes + bytes > this.#options.parallel.indexBytes) return null;
    lane.blockedJob = null;
    return { job, record, bytes };
  }

  /** Ends or continues the jobs when `running` resolves to the next job of each. */
  #track(lane: Lane, jobs: readonly ClaimedJob[], running: Promise<readonly (Job | null)[]>): void {
    const run = running.then((nextJobs) => {
      this.#runs.delete(run);
      for (const [i, { job, bytes }] of jobs.entries()) {
        const next = nextJobs[i] ?? null;
        lane.running -= 1;
        lane.bytes -= bytes;
        lane.queue.complete(job.version);
        if (next === null) this.#notifyWaiters(job.version, null);
        else this.enqueue(next);
      }
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
      // The version is abandoned or the store cannot be read: the first step determines which.
      return null;
    }
  }

  /**
   * Returns whether the memory is used up. Documents then wait in the store, and the lane checks again soon.
   * Parsing continues: parsers run in separate processes, and their results go to disk.
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

  #notifyWaiters(version: number, abandoned: DocumentRecord | null): void {
    this.#pending.delete(version);
    for (const resolve of this.#waiters.get(version) ?? []) resolve(abandoned);
  }
}

function isFullBatch(batch: readonly SmallJob[]): boolean {
  const bytes = batch.reduce((sum, { record }) => sum + record.textBytes, 0);
  return batch.length >= limits.indexBatchDocumentsMax || bytes >= limits.indexBatchBytesMax;
}

/**
 * Returns the approximate memory for chunking, embedding and indexing a document. Parsing runs in processes
 * with a separate bound.
 */
function estimateIndexingBytes({ textBytes, metadata, vectorBytes = 0 }: DocumentRecord): number {
  return limits.indexingBytesPerTextByte * textBytes + vectorBytes + countMetadataUnits(metadata);
}

/** Upper bound on the encoded bytes of a number, a boolean or a point. */
const typedValueUnits = 64;

function countMetadataUnits(metadata: Metadata): number {
  let units = 0;
  for (const [name, value] of Object.entries(metadata)) {
    units += name.length;
    if (typeof value === 'string') units += value.length;
    else if (Array.isArray(value)) for (const text of value as readonly string[]) units += text.length;
    else units += typedValueUnits;
  }
  return units;
}
