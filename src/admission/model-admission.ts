import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import { organizationSemaphore } from './organization-semaphore.ts';
import {
  type LatencyMode,
  type LimitName,
  type LimitRefusal,
  type ModelCharge,
  type ModelKind,
  RateLimiter,
  type SlowReservation,
} from './rate-limiter.ts';
import { SlowCallQueue } from './slow-call-queue.ts';
import type { OrganisationLimits } from './tiers.ts';
import type { Timer } from './timer.ts';

export interface ModelCall {
  readonly organizationId: string;
  readonly kind: ModelKind;
  readonly chargedBytes: number;
  /** What the caller asked for; null tries fast first and falls back to slow. */
  readonly latency: LatencyMode | null;
  readonly signal: AbortSignal;
}

/** A call that may run now. `leave` must be called once when it is over, however it ended. */
export interface AdmittedCall {
  readonly mode: LatencyMode;
  readonly leave: () => void;
  /**
   * Waits for the first piece of the call's model work. A slow call yields its threads to fast work: when it is
   * still without its first piece 40 s after it came, it gets 429 here and the piece is nobody's any more.
   */
  readonly firstPiece: <Piece>(work: Promise<Piece>) => Promise<Piece>;
}

export interface ModelAdmissionOptions {
  readonly limitsOf: (organizationId: string) => OrganisationLimits;
  /** Shared with whoever else limits by the minute; one of its own when absent. */
  readonly limiter?: RateLimiter;
  readonly clock: Clock;
  readonly timer: Timer;
  readonly fastCallsRunningMax?: number;
  readonly slowCallsRunningMax?: number;
  readonly slowWaitingBytesMax?: number;
}

const limitWords: Readonly<Partial<Record<LimitName, string>>> = {
  'embed-bytes-fast': 'bytes per minute of embed calls with latency "fast"',
  'embed-bytes-slow': 'bytes per minute of embed calls with latency "slow"',
  'rerank-bytes-fast': 'bytes per minute of rerank calls with latency "fast"',
  'rerank-bytes-slow': 'bytes per minute of rerank calls with latency "slow"',
  'rerank-requests': 'requests per minute of rerank calls with latency "fast"',
};

/** Lets embed and rerank calls in, fast or slow, as the limits of their organisation allow. */
export class ModelAdmission {
  readonly #limitsOf: ModelAdmissionOptions['limitsOf'];
  readonly #clock: Clock;
  readonly #timer: Timer;
  readonly #limiter: RateLimiter;
  readonly #fast: FairSemaphore;
  readonly #slow: SlowCallQueue;

  constructor(options: ModelAdmissionOptions) {
    this.#limitsOf = options.limitsOf;
    this.#clock = options.clock;
    this.#timer = options.timer;
    this.#limiter = options.limiter ?? new RateLimiter(options.clock);
    this.#fast = organizationSemaphore({
      permits: options.fastCallsRunningMax ?? limits.fastCallsRunningMax,
      waitingMax: limits.fastCallsWaitingMax,
      what: 'model calls',
    });
    this.#slow = new SlowCallQueue({
      timer: options.timer,
      runningMax: options.slowCallsRunningMax ?? limits.slowCallsRunningMax,
      waitingBytesMax: options.slowWaitingBytesMax ?? limits.slowWaitingBytesMax,
    });
  }

  /** Slow calls that wait for their turn; a figure for `/metrics`. */
  get slowDepth(): number {
    return this.#slow.depth;
  }

  /**
   * Resolves when the call may run. Errors: `too_large` over the bytes of one request, `rate_limited` over a limit,
   * and the signal's reason when the caller leaves while it waits.
   */
  async admit(call: ModelCall): Promise<AdmittedCall> {
    const startBy = this.#clock.monotonic() + limits.slowWaitMsMax;
    const organisation = this.#limitsOf(call.organizationId);
    refuseTooLarge(call, organisation.bytesPerRequestMax);
    const charge: ModelCharge = { ...call, limits: organisation };
    if (call.latency === 'slow') return this.#admitSlow(charge, call, { startBy, fastWaitMs: null });
    const refusal = this.#limiter.takeFast(charge);
    if (refusal === null) return this.#admitFast(call);
    if (call.latency === 'fast') throw overLimit(refusal, call, null);
    return this.#admitSlow(charge, call, { startBy, fastWaitMs: refusal.waitMs });
  }

  /** At once, while not so many run that another organisation would have to wait for all of them. */
  async #admitFast({ organizationId, signal }: ModelCall): Promise<AdmittedCall> {
    const turn = this.#fast.acquire(organizationId, {
      gone: signal.aborted,
      onGone: (listener) => signal.addEventListener('abort', listener, { once: true }),
    });
    if (turn !== null) await turn;
    let isRunning = true;
    const leave = (): void => {
      if (isRunning) this.#fast.release();
      isRunning = false;
    };
    return { mode: 'fast', leave, firstPiece: (work) => work };
  }

  async #admitSlow(
    charge: ModelCharge,
    call: ModelCall,
    { startBy, fastWaitMs }: { startBy: number; fastWaitMs: number | null },
  ): Promise<AdmittedCall> {
    const waitMsMax = Math.max(0, startBy - this.#clock.monotonic());
    const reserved = this.#limiter.reserveSlow(charge, waitMsMax);
    if ('limit' in reserved) throw overLimit(reserved, call, fastWaitMs);
    let started = false;
    try {
      const turn = await this.#slow.enter({
        organizationId: call.organizationId,
        chargedBytes: call.chargedBytes,
        notBeforeMs: reserved.waitMs,
        waitMsMax,
        signal: call.signal,
      });
      if (turn.outcome !== 'started') throw noTurn();
      started = true;
      return { mode: 'slow', leave: turn.leave, firstPiece: (work) => this.#before(startBy, reserved, work) };
    } finally {
      if (!started) reserved.giveBack();
    }
  }

  async #before<Piece>(startBy: number, reserved: SlowReservation, work: Promise<Piece>): Promise<Piece> {
    let cancel = (): void => {};
    const late = new Promise<never>((_resolve, reject) => {
      cancel = this.#timer.after(Math.max(0, startBy - this.#clock.monotonic()), () => {
        reserved.giveBack();
        reject(noTurn());
      });
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      cancel();
    }
  }
}

/** A 429 for slow work that found no thread in time; the limits of the organisation have nothing to do with it. */
function noTurn(): AppError {
  return new AppError(
    'rate_limited',
    `The queue of calls with latency "slow" is too long: this call would wait more than ${limits.slowWaitMsMax / 1000} seconds.`,
    { retryAfterMs: limits.bucketRefillMs, headers: { 'x-quarry-limit': 'slow-queue' } },
  );
}

function refuseTooLarge(call: ModelCall, bytesPerRequestMax: number): void {
  if (call.chargedBytes <= bytesPerRequestMax) return;
  throw new AppError(
    'too_large',
    `This ${call.kind} call counts ${call.chargedBytes} bytes; one call may count at most ${bytesPerRequestMax}. Send it in parts.`,
  );
}

function overLimit(refusal: LimitRefusal, call: ModelCall, fastWaitMs: number | null): AppError {
  const allowed = `${refusal.allowancePerMinute} ${limitWords[refusal.limit] ?? refusal.limit}`;
  const headers = { 'x-quarry-limit': refusal.limit };
  const waitMs = Math.min(refusal.waitMs, fastWaitMs ?? Number.POSITIVE_INFINITY);
  if (waitMs === Number.POSITIVE_INFINITY) {
    const detail = `This call counts ${call.chargedBytes} bytes, more than a whole minute's limit of ${allowed}.`;
    return new AppError('rate_limited', detail, { shouldRetry: false, headers });
  }
  return new AppError('rate_limited', `Over the rate limit of ${allowed}.`, {
    retryAfterMs: waitMs,
    headers,
  });
}
