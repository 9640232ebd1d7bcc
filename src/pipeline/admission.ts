import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { mayTakeOne } from '../base/fair-share.ts';
import type { SpaceGuard } from '../store/store.ts';

export interface AdmissionOptions {
  /** Refuses while the disk is nearly full. */
  readonly space: SpaceGuard;
  /** Documents that wait or are worked on; of one organisation; and how many organisations have some. */
  readonly queue: {
    readonly depth: number;
    depthOf(organizationId: string): number;
    readonly organisations: number;
  };
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

  /** Throws `AppError` queue_full or reserve_reached. A full queue still takes some of who has few in it. */
  check(organizationId: string): void {
    const { queueDocumentsMax } = this.#options;
    this.checkRoom();
    if (!this.#hasPlace(organizationId)) {
      throw new AppError(
        'queue_full',
        `The ingest queue is full: ${queueDocumentsMax} documents wait for indexing (QUARRY_QUEUE_DOCUMENTS_MAX).`,
        { retryAfterMs: 2_000 },
      );
    }
  }

  #hasPlace(organizationId: string): boolean {
    const { queue, queueDocumentsMax } = this.#options;
    const taken = queue.depth;
    if (taken < queueDocumentsMax) return true;
    const mine = queue.depthOf(organizationId);
    const holders = queue.organisations + (mine === 0 ? 1 : 0);
    return mayTakeOne({ mine, taken, most: queueDocumentsMax, holders });
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
