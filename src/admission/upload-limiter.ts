import { AppError } from '../core/app-error.ts';
import { hasFairShare } from '../core/async/fair-share.ts';
import type { Clock } from '../core/clock.ts';

/** Permit of one upload whose bytes are arriving. */
export interface UploadPermit {
  /** Call when bytes arrive. */
  readonly touch: () => void;
  /** Idempotent. */
  readonly release: () => void;
}

interface RunningUpload {
  readonly owner: string;
  readonly end: (error: AppError) => void;
  /** Arrival of the latest bytes, in milliseconds of `Clock.monotonic()`. */
  touchedAt: number;
}

/** Milliseconds without a byte after which an upload may be evicted for another organization. */
const idleMsMax = 1_000;

/**
 * Bounds concurrent uploads. Each organization has a fair share; when an organization that holds little needs
 * a permit and none is free, the most idle upload of an organization that holds more is ended.
 */
export class UploadLimiter {
  readonly #capacity: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #running = new Set<RunningUpload>();
  readonly #counts = new Map<string, number>();

  constructor(capacity: number, clock: Pick<Clock, 'monotonic'>) {
    this.#capacity = capacity;
    this.#clock = clock;
  }

  get running(): number {
    return this.#running.size;
  }

  /** `end` aborts the upload when it is evicted. Errors: `unavailable` without a share for `owner`. */
  acquire(owner: string, end: (error: AppError) => void): UploadPermit {
    if (!this.#hasShare(owner) && !this.#evictFor(owner)) throw tooManyUploadsError();
    const upload: RunningUpload = { owner, end, touchedAt: this.#clock.monotonic() };
    this.#running.add(upload);
    this.#counts.set(owner, this.#countOf(owner) + 1);
    return {
      touch: () => {
        upload.touchedAt = this.#clock.monotonic();
      },
      release: () => this.#remove(upload),
    };
  }

  #hasShare(owner: string): boolean {
    const held = this.#countOf(owner);
    const holders = this.#counts.size + (held === 0 ? 1 : 0);
    return hasFairShare({ held, used: this.#running.size, capacity: this.#capacity, holders });
  }

  /** Ends the most idle upload among those of owners that hold more than `owner` would. */
  #evictFor(owner: string): boolean {
    const now = this.#clock.monotonic();
    let mostIdle: RunningUpload | null = null;
    for (const upload of this.#running) {
      if (this.#countOf(upload.owner) <= this.#countOf(owner) + 1) continue;
      if (now - upload.touchedAt < idleMsMax) continue;
      if (mostIdle === null || upload.touchedAt < mostIdle.touchedAt) mostIdle = upload;
    }
    if (mostIdle === null) return false;
    this.#remove(mostIdle);
    mostIdle.end(evictedUploadError());
    return true;
  }

  #remove(upload: RunningUpload): void {
    if (!this.#running.delete(upload)) return;
    const left = this.#countOf(upload.owner) - 1;
    if (left === 0) this.#counts.delete(upload.owner);
    else this.#counts.set(upload.owner, left);
  }

  #countOf(owner: string): number {
    return this.#counts.get(owner) ?? 0;
  }
}

function tooManyUploadsError(): AppError {
  const detail = 'Too many concurrent uploads. Try again shortly.';
  return new AppError('unavailable', detail, {
    retryAfterMs: 2_000,
    headers: { 'x-quarry-limit': 'uploads-running' },
  });
}

function evictedUploadError(): AppError {
  const detail = 'The upload was idle and was canceled in favor of another organization. Send it again.';
  return new AppError('unavailable', detail, {
    retryAfterMs: 2_000,
    headers: { 'x-quarry-limit': 'uploads-running' },
  });
}
