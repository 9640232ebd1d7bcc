import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { AuditFact, AuditLog } from './audit-log.ts';

export interface RefusalsOptions {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const minute = 60_000;

/**
 * Notes in the audit log what somebody tried and was not allowed: the same thing once a minute, and of one kind in one
 * organisation only so many in a minute, so that nobody fills the disk by asking. Nobody waits for it.
 */
export class Refusals {
  readonly #options: RefusalsOptions;
  /** Of the minute that began at `#since`, which is in milliseconds of `Clock.monotonic()`. */
  readonly #noted = new Set<string>();
  readonly #counts = new Map<string, number>();
  readonly #writing = new Set<Promise<void>>();
  #since = 0;
  #left = 0;

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  note(fact: AuditFact): void {
    this.#turn();
    const { organizationId, actor, action, target, address } = fact;
    const what = JSON.stringify([organizationId, actor, action, target, address]);
    if (this.#noted.has(what)) return;
    const kind = `${organizationId} ${action}`;
    const count = this.#counts.get(kind) ?? 0;
    if (count >= limits.refusalsPerMinuteMax) {
      this.#left += 1;
      return;
    }
    this.#noted.add(what);
    this.#counts.set(kind, count + 1);
    const { audit, logger } = this.#options;
    const writing = audit
      .record(fact)
      .catch((error: unknown) => logger.warn({ error: String(error) }, 'a refusal was not noted'))
      .finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
  }

  /** Resolves when everything noted is written. */
  async close(): Promise<void> {
    await Promise.all(this.#writing);
  }

  #turn(): void {
    const { clock, logger } = this.#options;
    const now = clock.monotonic();
    if (now - this.#since < minute) return;
    if (this.#left > 0) logger.warn({ refusals: this.#left }, 'more was refused than the audit log notes');
    this.#since = now;
    this.#left = 0;
    this.#noted.clear();
    this.#counts.clear();
  }
}
