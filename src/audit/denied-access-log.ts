import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { AuditEvent, AuditLog } from './audit-log.ts';

export interface DeniedAccessLogOptions {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const windowMs = 60_000;

/**
 * Records denied access in the audit log: identical events once per minute, and a bounded number of one
 * action per organization and minute, so that requests cannot fill the disk. Writes in the background.
 */
export class DeniedAccessLog {
  readonly #options: DeniedAccessLogOptions;
  /** Events of the window that started at `#windowStartedAt`, in milliseconds of `Clock.monotonic()`. */
  readonly #recorded = new Set<string>();
  readonly #counts = new Map<string, number>();
  readonly #writing = new Set<Promise<void>>();
  #windowStartedAt = 0;
  #dropped = 0;

  constructor(options: DeniedAccessLogOptions) {
    this.#options = options;
  }

  record(event: AuditEvent): void {
    this.#startWindow();
    const { organizationId, actor, action, target, address } = event;
    const fingerprint = JSON.stringify([organizationId, actor, action, target, address]);
    if (this.#recorded.has(fingerprint)) return;
    const countKey = `${organizationId} ${action}`;
    const count = this.#counts.get(countKey) ?? 0;
    if (count >= limits.deniedAuditEntriesPerMinuteMax) {
      this.#dropped += 1;
      return;
    }
    this.#recorded.add(fingerprint);
    this.#counts.set(countKey, count + 1);
    const { audit, logger } = this.#options;
    const writing = audit
      .record(event)
      .catch((error: unknown) => logger.warn({ error: String(error) }, 'audit log write failed'))
      .finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
  }

  /** Resolves when all recorded events are written. */
  async close(): Promise<void> {
    await Promise.all(this.#writing);
  }

  #startWindow(): void {
    const { clock, logger } = this.#options;
    const now = clock.monotonic();
    if (now - this.#windowStartedAt < windowMs) return;
    if (this.#dropped > 0)
      logger.warn({ entries: this.#dropped }, 'denied access omitted from the audit log');
    this.#windowStartedAt = now;
    this.#dropped = 0;
    this.#recorded.clear();
    this.#counts.clear();
  }
}
