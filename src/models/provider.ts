import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { ModelUnavailable } from '../base/model-unavailable.ts';
import { Semaphore } from '../core/async/semaphore.ts';
import type { Egress } from '../egress/egress.ts';
import { type BreakerState, CircuitBreaker } from './circuit-breaker.ts';
import { ProviderTrouble, postJson } from './post-json.ts';

/** Where a model is served over HTTP, and how it is asked. */
export interface ProviderOptions {
  /** Name of the model, ours and the provider's. */
  readonly model: string;
  readonly url: string;
  /** Sent as a bearer token, shown to nobody. */
  readonly key: string | null;
  /** Milliseconds one request of documents may take. */
  readonly patientMsMax: number;
  /** Milliseconds a query waits for its answer, all attempts together. */
  readonly urgentMsMax: number;
  /** Requests at the same time. */
  readonly requestsMax: number;
  readonly fetch: Egress['fetch'];
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** Whether the log may hold what the service says about a text, which may quote it. */
  readonly mayQuote: () => boolean;
  /** It answers again after trouble. */
  readonly onRecovered: () => void;
  /** Told of every request: how it ended and how long it took. */
  readonly observe: (outcome: RequestOutcome, seconds: number) => void;
}

export type RequestOutcome = 'answered' | ProviderTrouble['kind'];

export interface ProviderHealth {
  readonly model: string;
  readonly state: BreakerState;
  /** What was the matter last, null while it answers. */
  readonly trouble: string | null;
}

const attemptsPatientMax = 4;
const attemptsUrgentMax = 2;
/** Milliseconds before the second attempt, at most; each further one waits up to twice as long. */
const backoffMsFirst = 200;
/** How long a provider's own `retry-after` is believed. */
const retryAfterMsMax = 60_000;
/** After how long work is tried again that a provider could not do. */
const laterMsMin = 1_000;

/** One HTTP service with a model: places, time-outs, retries, and a circuit breaker around every request. */
export class Provider {
  /** Requests at a time; documents leave one of several permits to queries. */
  readonly semaphore: Semaphore;
  readonly #options: ProviderOptions;
  readonly #breaker: CircuitBreaker;
  #trouble: string | null = null;
  /** On the monotonic clock: the provider asked to be left alone until then. */
  #pausedUntil = 0;

  constructor(options: ProviderOptions) {
    this.#options = options;
    this.semaphore = new Semaphore({ permits: options.requestsMax, reservedPermits: 1 });
    this.#breaker = new CircuitBreaker({
      clock: options.clock,
      random: options.random,
      failuresMax: 5,
      restMsFirst: 1_000,
      restMsMax: 30_000,
    });
  }

  get model(): string {
    return this.#options.model;
  }

  get health(): ProviderHealth {
    return { model: this.model, state: this.#breaker.state, trouble: this.#trouble };
  }

  /** Milliseconds on the monotonic clock by which an answer to a query has to be there. */
  urgentDeadline(): number {
    return this.#options.clock.monotonic() + this.#options.urgentMsMax;
  }

  /** Rejects with `ModelUnavailable` when `work` for a query has not ended after the time a query has. */
  async inTime<Result>(work: Promise<Result>): Promise<Result> {
    const { urgentMsMax } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(this.#unavailable(`no answer within ${urgentMsMax} ms`, 0)),
        urgentMsMax,
      );
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Throws `ModelUnavailable` while it is known that no request would be sent. */
  check(): void {
    const wait = this.#breaker.waitMs();
    if (wait > 0) throw this.#unavailable(this.#trouble ?? 'it failed', wait);
  }

  /**
   * Posts `body` until `read` accepts the reply, with back-off in between. `deadline`: null for documents, which have
   * time. Rejects with `ModelUnavailable`, or with `ProviderTrouble` "refused" for the input's own fault.
   */
  async ask<Answer>(
    body: object,
    deadline: number | null,
    read: (reply: unknown) => Answer,
  ): Promise<Answer> {
    const attemptsMax = deadline === null ? attemptsPatientMax : attemptsUrgentMax;
    for (let attempt = 1; ; attempt += 1) {
      await this.#pause(deadline);
      const wait = this.#breaker.enter();
      if (wait > 0) throw this.#unavailable(this.#trouble ?? 'it failed', wait);
      try {
        return await this.#attempt(body, deadline, read);
      } catch (error) {
        if (!(error instanceof ProviderTrouble) || error.kind === 'refused') throw error;
        const backoff = Math.max(this.#backoff(attempt), Math.min(error.retryAfterMs ?? 0, retryAfterMsMax));
        const isLast = attempt >= attemptsMax || error.kind === 'misconfigured';
        if (isLast || this.#breaker.waitMs() > 0 || this.#isOver(deadline, backoff))
          throw this.#unavailable(error.message, Math.max(backoff, this.#breaker.waitMs()), error);
        await sleep(backoff);
      }
    }
  }

  async #attempt<Answer>(
    body: object,
    deadline: number | null,
    read: (reply: unknown) => Answer,
  ): Promise<Answer> {
    const { url, key, clock, patientMsMax, observe, mayQuote } = this.#options;
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
          mayQuote: mayQuote(),
          now: () => clock.now(),
          fetch: this.#options.fetch,
        }),
      );
      observe('answered', seconds());
      this.#recovered();
      return answer;
    } catch (error) {
      if (!(error instanceof ProviderTrouble)) {
        this.#breaker.gaveUp();
        throw error;
      }
      observe(error.kind, seconds());
      this.#learn(error);
      throw error;
    }
  }

  #learn(error: ProviderTrouble): void {
    const { logger, clock } = this.#options;
    const fields = { model: this.model, kind: error.kind, reason: error.message, said: error.said };
    // It answers, only not to this.
    if (error.kind === 'refused') {
      logger.info(fields, 'a model provider refused a text');
      this.#recovered();
      return;
    }
    this.#trouble = error.message;
    if (error.kind === 'busy') this.#breaker.gaveUp();
    else this.#breaker.failed(error.kind === 'misconfigured');
    const pause = Math.min(error.retryAfterMs ?? 0, retryAfterMsMax);
    this.#pausedUntil = Math.max(this.#pausedUntil, clock.monotonic() + pause);
    logger.warn({ ...fields, breaker: this.#breaker.state }, 'a model provider failed');
  }

  #recovered(): void {
    const wasAway = this.#trouble !== null;
    this.#trouble = null;
    this.#breaker.succeeded();
    if (!wasAway) return;
    this.#options.logger.info({ model: this.model }, 'a model provider answers again');
    this.#options.onRecovered();
  }

  /** Waits as long as the provider asked for; a query that has not so much time is told at once. */
  async #pause(deadline: number | null): Promise<void> {
    for (;;) {
      const wait = this.#pausedUntil - this.#options.clock.monotonic();
      if (wait <= 0) return;
      if (this.#isOver(deadline, wait)) throw this.#unavailable(this.#trouble ?? 'it is busy', wait);
      await sleep(wait);
    }
  }

  #isOver(deadline: number | null, msMore: number): boolean {
    return deadline !== null && this.#options.clock.monotonic() + msMore >= deadline;
  }

  /** "Full jitter": anything up to the bound, so that many who failed together do not come back together. */
  #backoff(attempt: number): number {
    return backoffMsFirst * 2 ** (attempt - 1) * this.#options.random();
  }

  #unavailable(reason: string, waitMs: number, cause?: ProviderTrouble): ModelUnavailable {
    return new ModelUnavailable(this.model, reason, {
      retryAfterMs: Math.max(laterMsMin, Math.ceil(waitMs)),
      ...(cause === undefined ? {} : { cause, privateDetails: { said: cause.said } }),
    });
  }
}

/** What a caller is told whose own text a provider does not take. */
export function refusedText(model: string, trouble: ProviderTrouble): AppError {
  return new AppError(
    'bad_request',
    `The model ${JSON.stringify(model)} does not take a text: ${trouble.message}.`,
    {
      cause: trouble,
      privateDetails: { said: trouble.said },
    },
  );
}
