import { AppError } from '../core/app-error.ts';
import type { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import { waitForAll } from '../core/async/wait-for-all.ts';
import type { Clock } from '../core/clock.ts';
import { describedError } from '../core/described-error.ts';
import type { Logger } from '../core/logger.ts';
import { ModelError } from '../core/model-error.ts';
import type { Trace } from '../core/trace.ts';
import type { ParseProgress } from '../parsing/tools/document-tools.ts';
import type { DocumentRecord } from '../storage/documents.ts';
import type { Job } from '../storage/jobs.ts';
import { ExpectationFailedError } from '../storage/store.ts';
import type { RootSpan, Tracer } from '../tracing/tracer.ts';
import type { ChunkedContent } from './content-operations.ts';
import { AbandonedError, type DocumentTransitions } from './document-transitions.ts';
import { describeBatch } from './ingest-spans.ts';
import type { IngestSteps, StepFailure } from './ingest-steps.ts';
import { SmallDocuments } from './small-documents.ts';

interface StepContext {
  readonly signal: AbortSignal;
  /** Null if the step is not traced. */
  readonly trace: Trace | null;
}

export interface JobRunnerOptions {
  readonly transitions: DocumentTransitions;
  readonly steps: IngestSteps;
  readonly clock: Clock;
  readonly backgroundScheduler: BackgroundScheduler;
  readonly logger: Logger;
  /** Null or absent: no step is traced. */
  readonly tracer?: Pick<Tracer, 'startJob'> | null;
  /** Whether the log may contain document text: not while an organization has zero data retention. */
  readonly mayLogContent: () => boolean;
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

const internalFailureMessage = 'Processing failed because of an internal error. See the server log.';

/** Runs the steps of jobs, and ends, fails or postpones a job whose step failed. */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #smallDocuments: SmallDocuments;
  /** Running jobs by version. */
  readonly #running = new Map<number, { readonly job: Job; readonly controller: AbortController }>();
  /** Documents being parsed, by version. */
  readonly #parsing = new Map<number, ParsingDocument & { readonly startedAt: number }>();
  #closed = false;

  constructor(options: JobRunnerOptions) {
    this.#options = options;
    this.#smallDocuments = new SmallDocuments(options);
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

  /** Stops the job of a version that is no longer needed. */
  abandon(version: number): void {
    this.#running.get(version)?.controller.abort(new AbandonedError());
  }

  /** Stops the running jobs of a deleted collection. */
  abandonCollection(collectionId: string): void {
    for (const { job, controller } of this.#running.values()) {
      if (job.collectionId === collectionId) controller.abort(new AbandonedError());
    }
  }

  /** Stops all running jobs; they end without changing their documents. */
  close(): void {
    this.#closed = true;
    for (const { controller } of this.#running.values()) controller.abort(new AbandonedError());
  }

  /**
   * Runs the steps of one job that belong to its lane. Returns the next job or null. Never rejects.
   * `record`: the record of the document if it was already read in this turn of the event loop.
   */
  async run(job: Job, record: DocumentRecord | null): Promise<Job | null> {
    const signal = this.#begin(job);
    const trace = this.#options.tracer?.startJob() ?? null;
    let isError = false;
    try {
      const current = record ?? this.#options.transitions.getCurrent(job);
      return await this.#step(job, current, { signal, trace });
    } catch (error) {
      isError = true;
      return await this.#recover(job, error);
    } finally {
      this.#running.delete(job.version);
      trace?.end({ ...describeJob(job), isError });
    }
  }

  /** Whether the document can be part of a batch: it is small and did not fail before. */
  canJoinBatch(job: Job, record: DocumentRecord): boolean {
    if (job.step !== 'chunk' || job.attempts + record.attempts > 0) return false;
    try {
      return this.#options.steps.fitsBatch(record);
    } catch {
      // The model is unavailable: the first step reports it.
      return false;
    }
  }

  /**
   * Runs jobs of one collection that can join a batch. Each that could not be completed in the batch then runs
   * separately. Returns the next job of each, or null. Never rejects.
   */
  async runBatch(
    documents: readonly { readonly job: Job; readonly record: DocumentRecord }[],
  ): Promise<(Job | null)[]> {
    const batch = documents.map(({ job, record }) => ({ job, record, signal: this.#begin(job) }));
    const trace = this.#options.tracer?.startJob() ?? null;
    const indexed = await this.#smallDocuments.index(batch, trace);
    for (const { job } of batch) this.#running.delete(job.version);
    // A document that is not indexed runs separately, which reports its error.
    trace?.end(describeBatch(batch[0]!.job, { documents: batch.length, indexed: indexed.size }));
    return Promise.all(
      batch.map(async ({ job }) => (indexed.has(job.version) || this.#closed ? null : this.run(job, null))),
    );
  }

  /** Registers a running job. Returns the signal that aborts it. */
  #begin(job: Job): AbortSignal {
    const controller = new AbortController();
    this.#running.set(job.version, { job, controller });
    return controller.signal;
  }

  async #step(job: Job, record: DocumentRecord, { signal, trace }: StepContext): Promise<Job | null> {
    const { transitions, steps } = this.#options;
    if (job.step === 'parse') {
      transitions.checkCapacity();
      await transitions.markStarted(job, 'parsing');
      const outcome = await this.#traced(trace, 'parse', () => this.#parse(job, record, signal));
      return 'failure' in outcome
        ? await this.#fail(job, 'parsing_failed', outcome.failure)
        : await transitions.storeParsed(job, outcome);
    }
    const needsChunks = job.step === 'chunk' && steps.needsChunks(record);
    if (needsChunks) transitions.checkCapacity();
    if (needsChunks && steps.isSmall(record)) {
      await this.#indexSmall(job, record, { signal, trace });
      return null;
    }
    await transitions.markStarted(job, 'indexing');
    if (needsChunks) job = await transitions.storeChunked(job, await steps.chunk(record, signal, trace));
    await this.#traced(trace, 'index', () => this.#index(job, { record, content: null, signal }));
    return null;
  }

  async #traced<T>(trace: Trace | null, name: string, work: () => Promise<T>): Promise<T> {
    if (trace === null) return work();
    const started = this.#options.clock.monotonic();
    try {
      return await work();
    } finally {
      trace.addSpan(name, started);
    }
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
  async #indexSmall(job: Job, record: DocumentRecord, { signal, trace }: StepContext): Promise<void> {
    const { transitions, steps } = this.#options;
    const content = await steps.chunk(record, signal, trace);
    try {
      await this.#traced(trace, 'index', () => this.#index(job, { record, content, signal }));
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
        ...(content === null ? [] : [transitions.storePrepared([{ job, content }])]),
      ]);
      await backgroundScheduler.yield();
      signal.throwIfAborted();
      const published = await transitions.publishIndexed([{ job, content }]);
      if (!published.has(job.version)) throw new AbandonedError();
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
    logger.warn({ documentId: job.documentId, code: failure.code, status }, 'document failed');
    return null;
  }

  /** Handles the error of a step: ends, fails or postpones the job. */
  async #recover(job: Job, error: unknown): Promise<Job | null> {
    const { clock, logger, mayLogContent, transitions } = this.#options;
    if (this.#closed || error instanceof AbandonedError || this.#isAbandoned(job)) return null;
    // The document is current: its collection was renamed while the step was written.
    if (error instanceof ExpectationFailedError) return { ...job, notBefore: clock.now() + retryMsInitial };
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
}

/** The path of the document is not recorded. */
function describeJob({ step, organizationId, collectionId, documentId }: Job): Omit<RootSpan, 'isError'> {
  return {
    name: `ingest ${step}`,
    kind: 'internal',
    attributes: {
      'quarry.organization_id': organizationId,
      'quarry.collection_id': collectionId,
      'quarry.document_id': documentId,
    },
  };
}

/** Whether the error is temporary. */
function isTransient(error: unknown): error is AppError & { options: { retryAfterMs: number } } {
  return error instanceof AppError && error.options.retryAfterMs !== undefined;
}
