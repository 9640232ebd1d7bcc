import { AppError } from '../core/app-error.ts';
import { hasFairShare } from '../core/async/fair-share.ts';
import type { FreeSpaceCheck } from '../storage/store.ts';

export interface IngestAdmissionOptions {
  /** Rejects while the disk is nearly full. */
  readonly space: FreeSpaceCheck;
  /**
   * Documents queued or in progress: in total, of one organization, and the number of organizations with any.
   */
  readonly queue: {
    readonly depth: number;
    countPendingOf(organizationId: string): number;
    readonly organizationCount: number;
  };
  readonly queueDocumentsMax: number;
  /** Rejects while the process is at its memory limit. */
  readonly memory: { check(): void };
}

/** Rejects new documents when the queue, the disk or the memory has reached its limit. Reads continue. */
export class IngestAdmission {
  readonly #options: IngestAdmissionOptions;

  constructor(options: IngestAdmissionOptions) {
    this.#options = options;
  }

  /**
   * Errors: `queue_full`, `reserve_reached`. A full queue still accepts some documents of organizations with
   * few.
   */
  check(organizationId: string): void {
    const { queueDocumentsMax } = this.#options;
    this.checkCapacity();
    if (!this.#hasShare(organizationId)) {
      throw new AppError(
        'queue_full',
        `The ingest queue is full: ${queueDocumentsMax} documents are waiting to be indexed (QUARRY_QUEUE_DOCUMENTS_MAX). Try again later.`,
        { retryAfterMs: 2_000 },
      );
    }
  }

  #hasShare(organizationId: string): boolean {
    const { queue, queueDocumentsMax } = this.#options;
    const used = queue.depth;
    if (used < queueDocumentsMax) return true;
    const held = queue.countPendingOf(organizationId);
    const holders = queue.organizationCount + (held === 0 ? 1 : 0);
    return hasFairShare({ held, used, capacity: queueDocumentsMax, holders });
  }

  /** Same as `check` without the queue limit, for work that the queue may depend on. */
  checkCapacity(): void {
    const { space, memory } = this.#options;
    space.check();
    memory.check();
  }
}
