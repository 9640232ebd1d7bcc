import type { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import { waitForAll } from '../core/async/wait-for-all.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { Trace } from '../core/trace.ts';
import type { DocumentRecord } from '../storage/documents.ts';
import type { Job } from '../storage/jobs.ts';
import type { ChunkedDocument } from './content-operations.ts';
import type { DocumentTransitions } from './document-transitions.ts';
import type { IngestSteps } from './ingest-steps.ts';

export interface SmallDocumentsOptions {
  readonly transitions: DocumentTransitions;
  readonly steps: IngestSteps;
  readonly backgroundScheduler: Pick<BackgroundScheduler, 'yield'>;
  readonly logger: Logger;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export interface SmallDocument {
  readonly job: Job;
  readonly record: DocumentRecord;
  /** Aborts when the version is no longer needed. */
  readonly signal: AbortSignal;
}

const noVersions: ReadonlySet<number> = new Set();

/**
 * Chunks, stages and publishes small documents of one collection together: reads, writes, locks and promises are
 * per batch instead of per document.
 */
export class SmallDocuments {
  readonly #options: SmallDocumentsOptions;

  constructor(options: SmallDocumentsOptions) {
    this.#options = options;
  }

  /**
   * Returns the versions that are indexed. A document is left out, unchanged, if it needs another step, if it
   * failed, or if the write of the whole batch failed; it then runs separately, which reports its own error.
   * Never rejects.
   */
  async index(documents: readonly SmallDocument[], trace: Trace | null = null): Promise<ReadonlySet<number>> {
    const { transitions, steps, logger, clock } = this.#options;
    try {
      transitions.checkCapacity();
      const chunkStartedAt = clock.monotonic();
      const contents = await steps.chunkSmall(documents);
      trace?.addSpan('chunk', chunkStartedAt, { 'quarry.embeds': true });
      const chunked = documents.flatMap((document, i) => {
        const content = contents[i];
        return content === null || content === undefined ? [] : { ...document, content };
      });
      if (chunked.length === 0) return noVersions;
      const indexStartedAt = clock.monotonic();
      const published = await this.#publish(chunked);
      trace?.addSpan('index', indexStartedAt);
      return published;
    } catch (error) {
      logger.debug(
        { documents: documents.length, error: String(error) },
        'batch failed, its documents are processed separately',
      );
      return noVersions;
    }
  }

  async #publish(documents: readonly (SmallDocument & ChunkedDocument)[]): Promise<ReadonlySet<number>> {
    const { transitions, steps, backgroundScheduler } = this.#options;
    let published = noVersions;
    try {
      await waitForAll([
        ...documents.map(({ record, content, signal }) => steps.stage(record, content.block, signal)),
        transitions.storePrepared(documents),
      ]);
      await backgroundScheduler.yield();
      const needed = documents.filter(({ signal }) => !signal.aborted);
      if (needed.length > 0) published = await transitions.publishIndexed(needed);
      return published;
    } finally {
      for (const { job, record } of documents) if (!published.has(job.version)) steps.unstage(record);
    }
  }
}
