import { statfs } from 'node:fs/promises';
import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { FreeSpaceCheck } from './store.ts';

export interface DiskSpaceMonitorOptions {
  readonly path: string;
  /** Free bytes below which writes are rejected. */
  readonly reserveBytes: number;
  readonly logger: Logger;
  /** Returns the free bytes of a path's file system for this user. */
  readonly measure?: (path: string) => Promise<number>;
}

/**
 * Measures free space every `limits.freeSpaceCheckMs`; rejects writes below the reserve and allows them again
 * above it.
 */
export class DiskSpaceMonitor implements FreeSpaceCheck {
  readonly #options: DiskSpaceMonitorOptions;
  #freeBytes = Number.POSITIVE_INFINITY;
  #isLow = false;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  static async start(options: DiskSpaceMonitorOptions): Promise<DiskSpaceMonitor> {
    const monitor = new DiskSpaceMonitor(options);
    await monitor.measure();
    monitor.#schedule();
    return monitor;
  }

  private constructor(options: DiskSpaceMonitorOptions) {
    this.#options = options;
  }

  /** Most recent measurement. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  check(): void {
    if (!this.#isLow) return;
    throw new AppError(
      'reserve_reached',
      'The disk of the data directory is almost full. Uploads are rejected until space is freed; search and deletion still work.',
      { retryAfterMs: 5_000, privateDetails: { freeBytes: this.#freeBytes } },
    );
  }

  /** Measures now. If the measurement fails, the last result remains in effect. */
  async measure(): Promise<void> {
    const { path, reserveBytes, logger } = this.#options;
    try {
      this.#freeBytes = await (this.#options.measure ?? measureFreeBytes)(path);
    } catch (error) {
      logger.warn({ error: String(error) }, 'free disk space check failed');
      return;
    }
    const isLow = this.#freeBytes < reserveBytes;
    if (isLow !== this.#isLow) {
      const event = isLow
        ? 'free disk space below reserve, writes paused'
        : 'free disk space recovered, writes resumed';
      logger.warn({ freeBytes: this.#freeBytes, reserveBytes }, event);
    }
    this.#isLow = isLow;
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

async function measureFreeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
