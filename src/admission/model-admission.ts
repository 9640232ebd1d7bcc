import { AppError } from '../core/app-error.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import { createOrganizationSemaphore } from './organization-semaphore.ts';
import {
  type ExceededLimit,
  type LatencyMode,
  type LimitName,
  type ModelCallCharge,
  type ModelKind,
  RateLimiter,
  type SlowCallReservation,
} from './rate-limiter.ts';
import { SlowCallQueue } from './slow-call-queue.ts';
import type { OrganizationLimits } from './tiers.ts';
import type { Timer } from './timer.ts';

export interface ModelCallRequest {
  readonly organizationId: string;
  readonly kind: ModelKind;
  readonly chargedBytes: number;
  /** Requested latency; null tries fast first and falls back to slow. */
  readonly latency: LatencyMode | null;
  readonly signal: AbortSignal;
}

/** Admitted call. Call `release` once when it has ended, regardless of the outcome. */
export interface AdmittedCall {
  readonly mode: LatencyMode;
  readonly release: () => void;
  /**
   * Waits for the first batch of the call's model work. A slow call yields its threads to fast work: if the
   * first batch is not done `slowWaitMsMax` (40 s) after arrival, this rejects with 429 and the batch is
   * discarded.
   */
  readonly awaitFirstBatch: <Piece>(work: Promise<Piece>) => Promise<Piece>;
}

export interface ModelAdmissionOptions {
  readonly limitsOf: (organizationId: string) => OrganizationLimits;
  /** Limiter shared with other rate limits; a separate one by default. */
  readonly limiter?: RateLimiter;
  readonly clock: Clock;
  readonly timer: Timer;
  readonly fastCallsRunningMax?: number;
  readonly slowCallsRunningMax?: number;
  readonly slowWaitingBytesMax?: number;
}

const limitDescriptions: Readonly<Partial<Record<LimitName, string>>> = {
  'embed-bytes-fast': 'bytes per minute of embed calls with latency "fast"',
  'embed-bytes-slow': 'bytes per minute of embed calls with latency "slow"',
  'rerank-bytes-fast': 'bytes per minute of rerank calls with latency "fast"',
  'rerank-bytes-slow': 'bytes per minute of rerank calls with latency "slow"',
  'rerank-requests': 'requests per minute of rerank calls with latency "fast"',
};

/** Admits embed and rerank calls, fast or slow, within the limits of their organization. */
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
    this.#fast = createOrganizationSemaphore({
      permits: options.fastCallsRunningMax ?? limits.fastCallsRunningMax,
      waitingMax: limits.fastCallsWaitingMax,
      noun: 'model calls',
    });
    this.#slow = new SlowCallQueue({
      timer: options.timer,
      runningMax: options.slowCallsRunningMax ?? limits.slowCallsRunningMax,
      waitingBytesMax: options.slowWaitingBytesMax ?? limits.slowWaitingBytesMax,
    });
  }

  /** Number of waiting slow calls, for `/metrics`. */
  get slowQueueDepth(): number {
    return this.#slow.depth;
  }

  /**
   * Resolves when the call may run. Errors: `too_large` over the bytes of one request, `rate_limited` over a
   * limit, and the reason of the signal when the caller disconnects while waiting.
   */
  async admit(call: ModelCallRequest): Promise<AdmittedCall> {
    const startBy = this.#clock.monotonic() + limits.slowWaitMsMax;
    const organizationLimits = this.#limitsOf(call.organizationId);
    checkChargedBytes(call, organizationLimits.bytesPerRequestMax);
    const charge: ModelCallCharge = { ...call, limits: organizationLimits };
    if (call.latency === 'slow') return this.#admitSlow(charge, call, { startBy, fastWaitMs: null });
    const exceeded = this.#limiter.consumeFast(charge);
    if (exceeded === null) return this.#admitFast(call);
    if (call.latency === 'fast') throw rateLimitError(exceeded, call, null);
    return this.#admitSlow(charge, call, { startBy, fastWaitMs: exceeded.waitMs });
  }

  /**
   * Runs immediately unless it must wait for a permit of its organization's fair share.
   */
  async #admitFast({ organizationId, signal }: ModelCallRequest): Promise<AdmittedCall> {
    const permit = this.#fast.acquire(organizationId, {
      isCanceled: signal.aborted,
      onCanceled: (listener) => signal.addEventListener('abort', listener, { once: true }),
    });
    if (permit !== null) await permit;
    let isRunning = true;
    const release = (): void => {
      if (isRunning) this.#fast.release();
      isRunning = false;
    };
    return { mode: 'fast', release, awaitFirstBatch: (work) => work };
  }

  async #admitSlow(
    charge: ModelCallCharge,
    call: ModelCallRequest,
    { startBy, fastWaitMs }: { startBy: number; fastWaitMs: number | null },
  ): Promise<AdmittedCall> {
    const waitMsMax = Math.max(0, startBy - this.#clock.monotonic());
    const reservation = this.#limiter.reserveSlow(charge, waitMsMax);
    if ('limit' in reservation) throw rateLimitError(reservation, call, fastWaitMs);
    let started = false;
    try {
      const permit = await this.#slow.acquire({
        organizationId: call.organizationId,
        chargedBytes: call.chargedBytes,
        notBeforeMs: reservation.waitMs,
        waitMsMax,
        signal: call.signal,
      });
      if (permit.outcome !== 'started')
        throw permit.outcome === 'full' ? slowQueueFullError() : slowQueueTimeoutError();
      started = true;
      return {
        mode: 'slow',
        release: permit.release,
        awaitFirstBatch: (work) => this.#untilStartDeadline(startBy, reservation, work),
      };
    } finally {
      if (!started) reservation.release();
    }
  }

  async #untilStartDeadline<Piece>(
    startBy: number,
    reservation: SlowCallReservation,
    work: Promise<Piece>,
  ): Promise<Piece> {
    let cancel = (): void => {};
    const deadlinePassed = new Promise<never>((_resolve, reject) => {
      cancel = this.#timer.after(Math.max(0, startBy - this.#clock.monotonic()), () => {
        reservation.release();
        reject(slowQueueTimeoutError());
      });
    });
    try {
      return await Promise.race([work, deadlinePassed]);
    } finally {
      cancel();
    }
  }
}

function slowQueueFullError(): AppError {
  return new AppError(
    'rate_limited',
    'Your organization has too many bytes in the queue of calls with latency "slow". Wait for replies before you send more.',
    { retryAfterMs: limits.bucketRefillMs, headers: { 'x-quarry-limit': 'slow-queue' } },
  );
}

/** Returns a 429 for slow work that got no thread in time; unrelated to the limits of the organization. */
function slowQueueTimeoutError(): AppError {
  return new AppError(
    'rate_limited',
    `The queue of calls with latency "slow" is full: this call would wait more than ${limits.slowWaitMsMax / 1000} seconds. Try again later.`,
    { retryAfterMs: limits.bucketRefillMs, headers: { 'x-quarry-limit': 'slow-queue' } },
  );
}

function checkChargedBytes(call: ModelCallRequest, bytesPerRequestMax: number): void {
  if (call.chargedBytes <= bytesPerRequestMax) return;
  throw new AppError(
    'too_large',
    `This ${call.kind} call is charged ${call.chargedBytes} bytes; the limit per call is ${bytesPerRequestMax}. Split it into smaller calls.`,
  );
}

function rateLimitError(
  exceeded: ExceededLimit,
  call: ModelCallRequest,
  fastWaitMs: number | null,
): AppError {
  const allowed = `${exceeded.allowancePerMinute} ${limitDescriptions[exceeded.limit] ?? exceeded.limit}`;
  const headers = { 'x-quarry-limit': exceeded.limit };
  const waitMs = Math.min(exceeded.waitMs, fastWaitMs ?? Number.POSITIVE_INFINITY);
  if (waitMs === Number.POSITIVE_INFINITY) {
    const detail = `This call is charged ${call.chargedBytes} bytes, which exceeds the limit of ${allowed}. Split it into smaller calls.`;
    return new AppError('rate_limited', detail, { shouldRetry: false, headers });
  }
  return new AppError('rate_limited', `Rate limit exceeded: ${allowed}.`, {
    retryAfterMs: waitMs,
    headers,
  });
}
