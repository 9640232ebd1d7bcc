import { statfs } from 'node:fs/promises';
import { AppError } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { SpaceGuard } from './store.ts';

export interface SpaceWatchOptions {
  readonly path: string;
  /** Free bytes below which writes are refused. */
  readonly reserveBytes: number;
  readonly logger: Logger;
  /** Free bytes of a path's file system for this user. */
  readonly measure?: (path: string) => Promise<number>;
}

/** Measures free space every two seconds; refuses writes below the reserve and allows them again above it. */
export class SpaceWatch implements SpaceGuard {
  readonly #options: SpaceWatchOptions;
  #freeBytes = Number.POSITIVE_INFINITY;
  #low = false;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  static async start(options: SpaceWatchOptions): Promise<SpaceWatch> {
    const watch = new SpaceWatch(options);
    await watch.measure();
    watch.#schedule();
    return watch;
  }

  private constructor(options: SpaceWatchOptions) {
    this.#options = options;
  }

  /** As last measured. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  check(): void {
    if (!this.#low) return;
    throw new AppError(
      'reserve_reached',
      'The disk of the data directory is nearly full, so nothing can be added until space is freed; searching and deleting go on.',
      { retryAfterMs: 5_000, privateDetails: { freeBytes: this.#freeBytes } },
    );
  }

  /** Measures now. A disk that cannot be measured keeps the last verdict. */
  async measure(): Promise<void> {
    const { path, reserveBytes, logger } = this.#options;
    try {
      this.#freeBytes = await (this.#options.measure ?? freeBytes)(path);
    } catch (error) {
      logger.warn({ error: String(error) }, 'free space cannot be measured');
      return;
    }
    const low = this.#freeBytes < reserveBytes;
    if (low !== this.#low) {
      const event = low
        ? 'free space is below the reserve: writes pause'
        : 'free space is back: writes go on';
      logger.warn({ freeBytes: this.#freeBytes, reserveBytes }, event);
    }
    this.#low = low;
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      void this.measure().then(() => this.#schedule());
    }, limits.freeSpaceCheckMs);
    this.#timer.unref();
  }
}

async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
