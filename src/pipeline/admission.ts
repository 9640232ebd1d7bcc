import { AppError } from '../base/app-error.ts';
import type { SpaceGuard } from '../store/store.ts';

export interface AdmissionOptions {
  /** Refuses while the disk is nearly full. */
  readonly space: SpaceGuard;
  /** Documents that wait or are worked on. */
  readonly queueDepth: () => number;
  readonly queueDocumentsMax: number;
  /** Resident bytes of the process. */
  readonly residentBytes: () => number;
  readonly memoryBytesMax: number;
}

/** Refuses new documents early, with the limit that is reached, instead of growing without end. Reads go on. */
export class Admission {
  readonly #options: AdmissionOptions;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Throws `AppError` queue_full or reserve_reached. */
  check(): void {
    const { space, queueDepth, queueDocumentsMax, residentBytes, memoryBytesMax } = this.#options;
    space.check();
    if (queueDepth() >= queueDocumentsMax) {
      throw new AppError(
        'queue_full',
        `The ingest queue is full: ${queueDocumentsMax} documents wait for indexing (QUARRY_QUEUE_DOCUMENTS_MAX).`,
        { retryAfterMs: 2_000 },
      );
    }
    if (residentBytes() >= memoryBytesMax) {
      throw new AppError(
        'reserve_reached',
        `The server uses its memory limit of ${memoryBytesMax} bytes (QUARRY_MEMORY_BYTES_MAX), so nothing can be added; searching and deleting go on.`,
        { retryAfterMs: 10_000 },
      );
    }
  }
}
