import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { SpaceGuard } from '../store/store.ts';

export interface AdmissionOptions {
  /** Refuses while the disk is nearly full. */
  readonly space: SpaceGuard;
  /** Documents that wait or are worked on. */
  readonly queueDepth: () => number;
  readonly queueDocumentsMax: number;
  /** Memory that the process holds and only swapping could take from it. */
  readonly heldBytes: () => number;
  readonly memoryBytesMax: number;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** How old the known size of the process may be: asking the system takes it most of a millisecond. */
const heldMsMax = 50;

/** Refuses new documents early, with the limit that is reached, instead of growing without end. Reads go on. */
export class Admission {
  readonly #options: AdmissionOptions;
  #held = { bytes: 0, at: Number.NEGATIVE_INFINITY };

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Throws `AppError` queue_full or reserve_reached. */
  check(): void {
    const { queueDepth, queueDocumentsMax } = this.#options;
    this.checkRoom();
    if (queueDepth() >= queueDocumentsMax) {
      throw new AppError(
        'queue_full',
        `The ingest queue is full: ${queueDocumentsMax} documents wait for indexing (QUARRY_QUEUE_DOCUMENTS_MAX).`,
        { retryAfterMs: 2_000 },
      );
    }
  }

  /** The same but for the queue: for work that may be what the queue waits for. */
  checkRoom(): void {
    const { space, memoryBytesMax } = this.#options;
    space.check();
    if (this.#heldBytes() >= memoryBytesMax) {
      throw new AppError(
        'reserve_reached',
        `The server uses its memory limit of ${memoryBytesMax} bytes (QUARRY_MEMORY_BYTES_MAX), so nothing can be added; searching and deleting go on.`,
        { retryAfterMs: 10_000 },
      );
    }
  }

  #heldBytes(): number {
    const { heldBytes, clock } = this.#options;
    const now = clock.monotonic();
    if (now - this.#held.at >= heldMsMax) this.#held = { bytes: heldBytes(), at: now };
    return this.#held.bytes;
  }
}
