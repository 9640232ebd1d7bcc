import { AppError } from '../base/app-error.ts';
import { mayTakeOne } from '../base/fair-share.ts';
import type { SpaceGuard } from '../store/store.ts';
import type { MemoryLimit } from './memory-limit.ts';

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
  readonly memory: Pick<MemoryLimit, 'check'>;
}

/** Refuses new documents early, with the limit that is reached, instead of growing without end. Reads go on. */
export class Admission {
  readonly #options: AdmissionOptions;

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
    const { space, memory } = this.#options;
    space.check();
    memory.check();
  }
}
