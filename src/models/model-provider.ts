import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import { Semaphore } from '../core/async/semaphore.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { ModelUnavailableError } from '../core/model-unavailable-error.ts';
import type { Egress } from '../egress/egress.ts';
import { type BreakerState, CircuitBreaker } from './circuit-breaker.ts';
import { type PostOptions, ProviderError, postJson } from './post-json.ts';

/** HTTP endpoint of a model, and the limits of requests to it. */
export interface ModelProviderOptions {
  /** Name of the model, here and at the provider. */
  readonly model: string;
  readonly url: string;
  /** Bearer token; never logged or returned. */
  readonly key: string | null;
  /** Maximum milliseconds of one request for documents. */
  readonly documentMsMax: number;
  /** Maximum milliseconds that a query waits for its reply, all attempts together. */
  readonly queryMsMax: number;
  /** Maximum number of concurrent requests. */
  readonly requestsMax: number;
  readonly fetch: Egress['fetch'];
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** Whether error replies of the service may be logged; they may quote a text. */
  readonly mayLogReply: () => boolean;
  /** Called when the service recovers after failures. */
  readonly onRecovered: () => void;
  /** Called after every request with its outcome and duration. */
  readonly observe: (outcome: RequestOutcome, seconds: number) => void;
}

export type RequestOutcome = 'answered' | ProviderError['kind'];

/** A request to the service that is repeated while it fails. */
export interface ProviderExchange<Answer> {
  /** By when the reply is needed, in milliseconds on the monotonic clock; null for documents, which have no deadline. */
  readonly deadline: number | null;
  /** Sends the request once and reads the reply. */
  readonly post: (url: string, options: PostOptions) => Promise<Answer>;
  /** Whether a failed attempt can be repeated; absent: always. */
  readonly mayRepeat?: () => boolean;
}

export interface ProviderHealth {
  readonly model: string;
  readonly state: BreakerState;
  /** Message of the last error; null while the service answers. */
  readonly lastError: string | null;
}

const documentAttemptsMax = 4;
const queryAttemptsMax = 2;
/** Maximum milliseconds before the second attempt; the bound doubles with each further attempt. */
const backoffMsInitial = 200;
/** Upper bound of a provider's `retry-after`. */
const retryAfterMsMax = 60_000;
/** Minimum delay before work that failed at a provider is retried. */
const retryMsMin = 1_000;

/** Client of one HTTP service with a model: concurrency limit, timeouts, retries and a circuit breaker. */
export class ModelProvider {
  /** Limits concurrent requests; if there are several permits, documents leave one of them to queries. */
  readonly semaphore: Semaphore;
  readonly #options: ModelProviderOptions;
  readonly #breaker: CircuitBreaker;
  #lastError: string | null = null;
  /** Time on the monotonic clock until which the provider asked for no requests (`retry-after`). */
  #pausedUntil = 0;

  constructor(options: ModelProviderOptions) {
    this.#options = options;
    this.semaphore = new Semaphore({ permits: options.requestsMax, reservedPermits: 1 });
    this.#breaker = new CircuitBreaker({
      clock: options.clock,
      random: options.random,
      failuresMax: 5,
      openMsInitial: 1_000,
      openMsMax: 30_000,
    });
  }

  get model(): string {
    return this.#options.model;
  }

  get health(): ProviderHealth {
    return { model: this.model, state: this.#breaker.state, lastError: this.#lastError };
  }

  /** Returns the time on the monotonic clock, in milliseconds, by which a query needs its reply. */
  getQueryDeadline(): number {
    return this.getDeadline(this.#options.queryMsMax);
  }

  getDeadline(msMax: number): number {
    return this.#options.clock.monotonic() + msMax;
  }

  /** Awaits `work` for a query. Errors: `ModelUnavailableError` if it exceeds the time limit of a query. */
  async withQueryTimeout<Result>(work: Promise<Result>): Promise<Result> {
    const { queryMsMax } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(this.#unavailableError(`no reply within ${queryMsMax} ms`, 0)),
        queryMsMax,
      );
    });
    try {
      return await Promise.race([work, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Errors: `ModelUnavailableError` while the circuit breaker rejects requests. */
  checkAvailable(): void {
    const wait = this.#breaker.getWaitMs();
    if (wait > 0) throw this.#unavailableError(this.#lastError ?? 'its requests failed', wait);
  }

  /**
   * Posts `body` and parses the reply by `read`; retries with backoff. `deadline` is null for documents,
   * which have no deadline. Errors: `ModelUnavailableError`; `ProviderError` of kind "refused" if the input
   * is invalid.
   */
  request<Answer>(
    body: object,
    deadline: number | null,
    read: (reply: unknown) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    return this.exchange({
      deadline,
      post: async (url, options) => read(await postJson(url, body, options)),
    });
  }

  /** Same as `request`, for any way to post. Other errors of `post` are rethrown and are no failures of the service. */
  async exchange<Answer>(exchange: ProviderExchange<Answer>): Promise<Answer> {
    const { deadline, mayRepeat = () => true } = exchange;
    const attemptsMax = deadline === null ? documentAttemptsMax : queryAttemptsMax;
    for (let attempt = 1; ; attempt += 1) {
      await this.#waitUntilUnpaused(deadline);
      const wait = this.#breaker.acquire();
      if (wait > 0) throw this.#unavailableError(this.#lastError ?? 'its requests failed', wait);
      try {
        return await this.#postOnce(exchange);
      } catch (error) {
        if (!(error instanceof ProviderError) || error.kind === 'refused') throw error;
        const backoff = Math.max(
          this.#computeBackoffMs(attempt),
          Math.min(error.retryAfterMs ?? 0, retryAfterMsMax),
        );
        const isLast = attempt >= attemptsMax || error.kind === 'misconfigured' || !mayRepeat();
        if (isLast || this.#breaker.getWaitMs() > 0 || this.#isPastDeadline(deadline, backoff))
          throw this.#unavailableError(error.message, Math.max(backoff, this.#breaker.getWaitMs()), error);
        await sleep(backoff);
      }
    }
  }

  async #postOnce<Answer>({ deadline, post }: ProviderExchange<Answer>): Promise<Answer> {
    const { url, key, clock, documentMsMax, observe, mayLogReply } = this.#options;
    const started = clock.monotonic();
    const msMax = deadline === null ? documentMsMax : Math.max(1, deadline - started);
    const seconds = () => (clock.monotonic() - started) / 1_000;
    try {
      const output = await post(url, {
        key,
        msMax,
        replyBytesMax: limits.providerReplyBytesMax,
        mayLogReply: mayLogReply(),
        now: () => clock.now(),
        fetch: this.#options.fetch,
      });
      observe('answered', seconds());
      this.#recordSuccess();
      return output;
    } catch (error) {
      if (!(error instanceof ProviderError)) {
        this.#breaker.recordIgnored();
        throw error;
      }
      observe(error.kind, seconds());
      this.#recordFailure(error);
      throw error;
    }
  }

  #recordFailure(error: ProviderError): void {
    const { logger, clock } = this.#options;
    const fields = {
      model: this.model,
      kind: error.kind,
      reason: error.message,
      replyExcerpt: error.replyExcerpt,
    };
    // The provider works; only this input is rejected.
    if (error.kind === 'refused') {
      logger.info(fields, 'model service rejected input');
      this.#recordSuccess();
      return;
    }
    this.#lastError = error.message;
    if (error.kind === 'busy') this.#breaker.recordIgnored();
    else this.#breaker.recordFailure(error.kind === 'misconfigured');
    const pause = Math.min(error.retryAfterMs ?? 0, retryAfterMsMax);
    this.#pausedUntil = Math.max(this.#pausedUntil, clock.monotonic() + pause);
    logger.warn({ ...fields, breaker: this.#breaker.state }, 'model service request failed');
  }

  #recordSuccess(): void {
    const wasFailing = this.#lastError !== null;
    this.#lastError = null;
    this.#breaker.recordSuccess();
    if (!wasFailing) return;
    this.#options.logger.info({ model: this.model }, 'model service recovered');
    this.#options.onRecovered();
  }

  /** Waits for the provider's `retry-after`; a query whose deadline is earlier fails at once. */
  async #waitUntilUnpaused(deadline: number | null): Promise<void> {
    for (;;) {
      const wait = this.#pausedUntil - this.#options.clock.monotonic();
      if (wait <= 0) return;
      if (this.#isPastDeadline(deadline, wait))
        throw this.#unavailableError(this.#lastError ?? 'the service is busy', wait);
      await sleep(wait);
    }
  }

  #isPastDeadline(deadline: number | null, extraMs: number): boolean {
    return deadline !== null && this.#options.clock.monotonic() + extraMs >= deadline;
  }

  /**
   * "Full jitter": a random delay up to the bound, so that clients that failed together do not retry
   * together.
   */
  #computeBackoffMs(attempt: number): number {
    return backoffMsInitial * 2 ** (attempt - 1) * this.#options.random();
  }

  #unavailableError(reason: string, waitMs: number, cause?: ProviderError): ModelUnavailableError {
    return new ModelUnavailableError(this.model, reason, {
      retryAfterMs: Math.max(retryMsMin, Math.ceil(waitMs)),
      ...(cause === undefined ? {} : { cause, privateDetails: { replyExcerpt: cause.replyExcerpt } }),
    });
  }
}

/** Returns the error for a caller whose text the provider rejects. */
export function rejectedTextError(model: string, error: ProviderError): AppError {
  return new AppError(
    'bad_request',
    `The model ${JSON.stringify(model)} rejected the text: ${error.message}.`,
    {
      cause: error,
      privateDetails: { replyExcerpt: error.replyExcerpt },
    },
  );
}
