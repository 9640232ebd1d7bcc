import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import { Semaphore } from '../core/async/semaphore.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { ModelUnavailableError } from '../core/model-unavailable-error.ts';
import type { Egress } from '../egress/egress.ts';
import { type BreakerState, CircuitBreaker } from './circuit-breaker.ts';
import { ProviderError, postJson } from './post-json.ts';

/** Where a model is served over HTTP, and how it is asked. */
export interface ModelProviderOptions {
  /** Name of the model, ours and the provider's. */
  readonly model: string;
  readonly url: string;
  /** Sent as a bearer token, shown to nobody. */
  readonly key: string | null;
  /** Milliseconds one request of documents may take. */
  readonly documentMsMax: number;
  /** Milliseconds a query waits for its answer, all attempts together. */
  readonly queryMsMax: number;
  /** Requests at the same time. */
  readonly requestsMax: number;
  readonly fetch: Egress['fetch'];
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** Whether the log may hold what the service says about a text, which may quote it. */
  readonly mayLogReply: () => boolean;
  /** It answers again after trouble. */
  readonly onRecovered: () => void;
  /** Told of every request: how it ended and how long it took. */
  readonly observe: (outcome: RequestOutcome, seconds: number) => void;
}

export type RequestOutcome = 'answered' | ProviderError['kind'];

export interface ProviderHealth {
  readonly model: string;
  readonly state: BreakerState;
  /** What was the matter last, null while it answers. */
  readonly lastError: string | null;
}

const documentAttemptsMax = 4;
const queryAttemptsMax = 2;
/** Milliseconds before the second attempt, at most; each further one waits up to twice as long. */
const backoffMsInitial = 200;
/** How long a provider's own `retry-after` is believed. */
const retryAfterMsMax = 60_000;
/** After how long work is tried again that a provider could not do. */
const retryMsMin = 1_000;

/** One HTTP service with a model: places, time-outs, retries, and a circuit breaker around every request. */
export class ModelProvider {
  /** Requests at a time; documents leave one of several permits to queries. */
  readonly semaphore: Semaphore;
  readonly #options: ModelProviderOptions;
  readonly #breaker: CircuitBreaker;
  #lastError: string | null = null;
  /** On the monotonic clock: the provider asked to be left alone until then. */
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

  /** Milliseconds on the monotonic clock by which an answer to a query has to be there. */
  getQueryDeadline(): number {
    return this.#options.clock.monotonic() + this.#options.queryMsMax;
  }

  /** Rejects with `ModelUnavailable` when `work` for a query has not ended after the time a query has. */
  async withQueryTimeout<Result>(work: Promise<Result>): Promise<Result> {
    const { queryMsMax: urgentMsMax } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(this.#unavailableError(`no answer within ${urgentMsMax} ms`, 0)),
        urgentMsMax,
      );
    });
    try {
      return await Promise.race([work, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Throws `ModelUnavailable` while it is known that no request would be sent. */
  checkAvailable(): void {
    const wait = this.#breaker.getWaitMs();
    if (wait > 0) throw this.#unavailableError(this.#lastError ?? 'it failed', wait);
  }

  /**
   * Posts `body` until `read` accepts the reply, with back-off in between. `deadline`: null for documents, which have
   * time. Rejects with `ModelUnavailable`, or with `ProviderTrouble` "refused" for the input's own fault.
   */
  async request<Answer>(
    body: object,
    deadline: number | null,
    read: (reply: unknown) => Answer,
  ): Promise<Answer> {
    const attemptsMax = deadline === null ? documentAttemptsMax : queryAttemptsMax;
    for (let attempt = 1; ; attempt += 1) {
      await this.#waitUntilUnpaused(deadline);
      const wait = this.#breaker.acquire();
      if (wait > 0) throw this.#unavailableError(this.#lastError ?? 'it failed', wait);
      try {
        return await this.#requestOnce(body, deadline, read);
      } catch (error) {
        if (!(error instanceof ProviderError) || error.kind === 'refused') throw error;
        const backoff = Math.max(
          this.#computeBackoffMs(attempt),
          Math.min(error.retryAfterMs ?? 0, retryAfterMsMax),
        );
        const isLast = attempt >= attemptsMax || error.kind === 'misconfigured';
        if (isLast || this.#breaker.getWaitMs() > 0 || this.#isPastDeadline(deadline, backoff))
          throw this.#unavailableError(error.message, Math.max(backoff, this.#breaker.getWaitMs()), error);
        await sleep(backoff);
      }
    }
  }

  async #requestOnce<Answer>(
    body: object,
    deadline: number | null,
    read: (reply: unknown) => Answer,
  ): Promise<Answer> {
    const { url, key, clock, documentMsMax: patientMsMax, observe, mayLogReply: mayQuote } = this.#options;
    const started = clock.monotonic();
    const msMax = deadline === null ? patientMsMax : Math.max(1, deadline - started);
    const seconds = () => (clock.monotonic() - started) / 1_000;
    const { providerReplyBytesMax: replyBytesMax } = limits;
    try {
      const answer = read(
        await postJson(url, body, {
          key,
          msMax,
          replyBytesMax,
          mayLogReply: mayQuote(),
          now: () => clock.now(),
          fetch: this.#options.fetch,
        }),
      );
      observe('answered', seconds());
      this.#recordSuccess();
      return answer;
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
    const fields = { model: this.model, kind: error.kind, reason: error.message, said: error.replyExcerpt };
    // It answers, only not to this.
    if (error.kind === 'refused') {
      logger.info(fields, 'a model provider refused a text');
      this.#recordSuccess();
      return;
    }
    this.#lastError = error.message;
    if (error.kind === 'busy') this.#breaker.recordIgnored();
    else this.#breaker.recordFailure(error.kind === 'misconfigured');
    const pause = Math.min(error.retryAfterMs ?? 0, retryAfterMsMax);
    this.#pausedUntil = Math.max(this.#pausedUntil, clock.monotonic() + pause);
    logger.warn({ ...fields, breaker: this.#breaker.state }, 'a model provider failed');
  }

  #recordSuccess(): void {
    const wasFailing = this.#lastError !== null;
    this.#lastError = null;
    this.#breaker.recordSuccess();
    if (!wasFailing) return;
    this.#options.logger.info({ model: this.model }, 'a model provider answers again');
    this.#options.onRecovered();
  }

  /** Waits as long as the provider asked for; a query that has not so much time is told at once. */
  async #waitUntilUnpaused(deadline: number | null): Promise<void> {
    for (;;) {
      const wait = this.#pausedUntil - this.#options.clock.monotonic();
      if (wait <= 0) return;
      if (this.#isPastDeadline(deadline, wait))
        throw this.#unavailableError(this.#lastError ?? 'it is busy', wait);
      await sleep(wait);
    }
  }

  #isPastDeadline(deadline: number | null, extraMs: number): boolean {
    return deadline !== null && this.#options.clock.monotonic() + extraMs >= deadline;
  }

  /** "Full jitter": anything up to the bound, so that many who failed together do not come back together. */
  #computeBackoffMs(attempt: number): number {
    return backoffMsInitial * 2 ** (attempt - 1) * this.#options.random();
  }

  #unavailableError(reason: string, waitMs: number, cause?: ProviderError): ModelUnavailableError {
    return new ModelUnavailableError(this.model, reason, {
      retryAfterMs: Math.max(retryMsMin, Math.ceil(waitMs)),
      ...(cause === undefined ? {} : { cause, privateDetails: { said: cause.replyExcerpt } }),
    });
  }
}

/** What a caller is told whose own text a provider does not take. */
export function refusedTextError(model: string, error: ProviderError): AppError {
  return new AppError(
    'bad_request',
    `The model ${JSON.stringify(model)} does not take a text: ${error.message}.`,
    {
      cause: error,
      privateDetails: { said: error.replyExcerpt },
    },
  );
}
