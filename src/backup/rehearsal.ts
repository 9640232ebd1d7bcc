import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { BackupSchedule } from './backup-schedule.ts';
import type { Manifest } from './manifest.ts';

export interface RehearsalOptions {
  readonly schedule: BackupSchedule;
  /** Restores the newest backup completely and deletes the result. Errors: Error with the reason of the failure. */
  readonly restore: (newest: Manifest, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface RehearsalFailure {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly message: string;
}

/** Milliseconds after a failed rehearsal. */
const retryMs = 3_600_000;

/** Restores backups on schedule, because only a restore shows that they are usable. */
export class RestoreRehearsal {
  readonly #options: RehearsalOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> | null = null;
  #lastError: RehearsalFailure | null = null;

  constructor(options: RehearsalOptions) {
    this.#options = options;
  }

  /** Failure of the last rehearsal; null if it succeeded. */
  get lastError(): RehearsalFailure | null {
    return this.#lastError;
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  /** Starts a rehearsal if it is due. `verifiedAt`: last verified restore from the target, also one by hand. */
  check(newest: Manifest, verifiedAt: number | null): void {
    const { schedule, clock } = this.#options;
    const now = clock.now();
    const dueAt = Math.max(schedule(verifiedAt, now), (this.#lastError?.at ?? -retryMs) + retryMs);
    if (this.#running !== null || this.#stop.signal.aborted || dueAt > now) return;
    this.#running = this.#run(newest);
  }

  /** Aborts a rehearsal. Idempotent. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Never rejects. */
  async #run(newest: Manifest): Promise<void> {
    const { restore, clock, logger } = this.#options;
    const startedAt = clock.now();
    try {
      await restore(newest, this.#stop.signal);
      this.#lastError = null;
      logger.info({ backup: newest.id, ms: clock.now() - startedAt }, 'rehearsal of a restore succeeded');
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        const { message } = error as Error;
        this.#lastError = { at: clock.now(), message };
        logger.error({ backup: newest.id, error: message }, 'rehearsal of a restore failed');
      }
    } finally {
      this.#running = null;
    }
  }
}
