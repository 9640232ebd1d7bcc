import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import { tables, text } from './keys.ts';
import { encodeCounters, readCounters, type Store } from './store.ts';
import { bytesCodec, Table } from './table.ts';

const systemTable = new Table<readonly [name: string], Uint8Array>(tables.system, [text], bytesCodec);
const timeKey = 'erasure time';

const hourMs = 3_600_000;
/** Maximum advance of the erasure time per step: after a weekend of downtime, erasure continues at once. */
const stepMsMax = 3 * 24 * hourMs;

interface ErasureClockOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Time for the erasure of old data. The clock of a machine can jump years ahead and back again, and data
 * erased meanwhile would be lost. So this time follows the clock in steps: from the latest time seen, which
 * is stored, it advances by at most three days once per hour of running. A clock that is set back is followed
 * at once.
 */
export class ErasureClock {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** Time of the last whole step; milliseconds of `Clock.monotonic()`. */
  #steppedAt = Number.NEGATIVE_INFINITY;
  #hasWarned = false;

  private constructor(options: ErasureClockOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  /**
   * Stores the time of the first start, so that a jump before the first erasure is limited like every later
   * one.
   */
  static async open(options: ErasureClockOptions): Promise<ErasureClock> {
    const erasure = new ErasureClock(options);
    if (erasure.#lastTime === 0) await erasure.#advance(options.clock.now());
    return erasure;
  }

  /** Returns milliseconds since the epoch. */
  async now(): Promise<number> {
    const now = this.#clock.now();
    const lastTime = this.#lastTime;
    if (now <= lastTime + stepMsMax) return this.#advance(now);
    if (!this.#hasWarned) {
      this.#hasWarned = true;
      const behindDays = Math.round((now - lastTime) / (24 * hourMs));
      this.#logger.warn(
        { behindDays },
        'system clock jumped ahead; expired data is deleted in steps of at most 3 days',
      );
    }
    if (this.#clock.monotonic() - this.#steppedAt < hourMs) return lastTime;
    this.#steppedAt = this.#clock.monotonic();
    return this.#advance(lastTime + stepMsMax);
  }

  /** 0 before the first start. */
  get #lastTime(): number {
    const [mark = 0] = readCounters(systemTable.get(this.#store, [timeKey]), 1);
    return mark;
  }

  async #advance(lastTime: number): Promise<number> {
    const operation = systemTable.put([timeKey], encodeCounters([lastTime]));
    await this.#store.write([operation], { mayUseReserve: true });
    return lastTime;
  }
}
