import { AppError } from '../base/app-error.ts';
import { assert } from '../base/assert.ts';
import type { Caller } from '../base/caller.ts';
import { TurnQueue } from './turn-queue.ts';

export interface FairTurnsOptions {
  /** What runs at one time. */
  readonly runningMax: number;
  /** Of one organisation, what waits at one time; more is refused. */
  readonly waitingMax: number;
  /** What they are, for a refusal: `queries`. */
  readonly what: string;
}

interface Waiting {
  readonly start: () => void;
}

/**
 * Turns of work that many organisations want at once. While there is room everybody goes at once; when there is none
 * organisations take turns, and inside an organisation who came first, so that nobody's thousand queries delay
 * another's one by more than what runs already.
 */
export class FairTurns {
  readonly #options: FairTurnsOptions;
  readonly #queue = new TurnQueue<Waiting>();
  #running = 0;

  constructor(options: FairTurnsOptions) {
    assert(options.runningMax > 0, 'somebody has a turn');
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Null when it is the caller's turn at once, else a promise of it, which rejects when the caller leaves. Whoever had a
   * turn ends it with `leave`, once. Errors: `rate_limited` when too many wait.
   */
  enter(organizationId: string, caller: Pick<Caller, 'gone' | 'onGone'>): Promise<void> | null {
    if (this.#running < this.#options.runningMax) {
      this.#running += 1;
      return null;
    }
    if (caller.gone) throw gone();
    if (this.#queue.sizeOf(organizationId) >= this.#options.waitingMax) throw this.#crowded();
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { start: resolve };
      this.#queue.add(organizationId, waiting);
      caller.onGone(() => {
        if (this.#queue.delete(organizationId, waiting)) reject(gone());
      });
    });
  }

  /** The place goes to who waits longest of the organisation whose turn it is. */
  leave(): void {
    const next = this.#queue.take();
    if (next === null) this.#running -= 1;
    else next.start();
  }

  #crowded(): AppError {
    const { waitingMax, what } = this.#options;
    return new AppError(
      'rate_limited',
      `${waitingMax} ${what} of your organisation wait for their turn already: send fewer at one time.`,
      { retryAfterMs: 1_000, headers: { 'x-quarry-limit': `waiting-${what.replaceAll(' ', '-')}` } },
    );
  }
}

/** Nobody is left to read it. */
function gone(): AppError {
  return new AppError('unavailable', 'The call ended while it waited for its turn.', { retryAfterMs: 1_000 });
}
