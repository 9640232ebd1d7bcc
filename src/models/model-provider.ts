import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import { Semaphore } from '../core/async/semaphore.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { ModelUnavailableError } from '../core/model-unavailable-error.ts';
import type { Egress } from '../egress/egress.ts';
import { type BreakerState, breakerStates } from './circuit-breaker.ts';
import { ModelEndpoint, retryAfterMsMax } from './model-endpoint.ts';
import { type PostOptions, ProviderError, postJson } from './post-json.ts';

/** HTTP endpoints of a model, and the limits of requests to them. */
export interface ModelProviderOptions {
  /** Name of the model, here and at the provider. */
  readonly model: string;
  /** Endpoints that are equivalent; at least one. */
  readonly urls: readonly string[];
  /** Bearer token; never logged or returned. */
  readonly key: string | null;
  /** Maximum milliseconds of one request for documents. */
  readonly documentMsMax: number;
  /** Maximum milliseconds that a query waits for its reply, all attempts together. */
  readonly queryMsMax: number;
  /** Milliseconds after which a query is also sent to a second endpoint; 0: never. */
  readonly hedgeMs: number;
  /** Maximum number of concurrent requests, without those of a second endpoint. */
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

/** superseded: another endpoint answered first. */
export type RequestOutcome = 'answered' | 'superseded' | ProviderError['kind'];

/** A request to the service that is repeated while it fails. */
export interface ProviderExchange<Answer> {
  /** By when the reply is needed, in milliseconds on the monotonic clock; null for documents, which have no deadline. */
  readonly deadline: number | null;
  /** Sends the request once and reads the reply. */
  readonly post: (url: string, options: PostOptions) => Promise<Answer>;
  /** Whether a failed attempt can be repeated; absent: always. */
  readonly mayRepeat?: () => boolean;
  /** Whether two endpoints may get the request at the same time; absent: no. */
  readonly mayHedge?: boolean;
}

/** Health of one endpoint. */
export interface EndpointHealth {
  readonly state: BreakerState;
  readonly lastError: string | null;
}

export interface ProviderHealth {
  readonly model: string;
  /** State of the best endpoint. */
  readonly state: BreakerState;
  /** Message of the last error; null while an endpoint answers. */
  readonly lastError: string | null;
  /** In the order of the settings. */
  readonly endpoints: readonly EndpointHealth[];
}

const documentAttemptsMax = 4;
const queryAttemptsMax = 2;
/** Maximum milliseconds before the second attempt; the bound doubles with each further attempt. */
const backoffMsInitial = 200;
/** Minimum delay before work that failed at a provider is retried. */
const retryMsMin = 1_000;

/** Reason of the abort of a request that another endpoint answered first. */
class SupersededError extends Error {
  override readonly name = 'SupersededError';
}

/**
 * Client of one HTTP service with a model: concurrency limit, timeouts, retries, and a circuit breaker per endpoint. A
 * request goes to the available endpoint with the fewest requests in flight, and after a failure to another one.
 */
export class ModelProvider {
  /** Limits concurrent requests; if there are several permits, documents leave one of them to queries. */
  readonly semaphore: Semaphore;
  readonly #options: ModelProviderOptions;
  readonly #endpoints: readonly ModelEndpoint[];
  /** Message of the last error of any endpoint. */
  #lastError: string | null = null;
  /** Number of requests; endpoints with equally many in flight take turns. */
  #requests = 0;

  constructor(options: ModelProviderOptions) {
    this.#options = options;
    this.semaphore = new Semaphore({ permits: options.requestsMax, reservedPermits: 1 });
    const { clock, random } = options;
    this.#endpoints = options.urls.map((url) => new ModelEndpoint({ url, clock, random }));
  }

  get model(): string {
    return this.#options.model;
  }

  get health(): ProviderHealth {
    const endpoints = this.#endpoints.map(({ state, lastError }) => ({ state, lastError }));
    const [best] = [...endpoints].sort(
      (a, b) => breakerStates.indexOf(a.state) - breakerStates.indexOf(b.state),
    );
    const lastError = endpoints.some((endpoint) => endpoint.lastError === null) ? null : this.#lastError;
    return { model: this.model, state: best!.state, lastError, endpoints };
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

  /** Errors: `ModelUnavailableError` while the circuit breakers reject requests. */
  checkAvailable(): void {
    const wait = this.#getBreakerWaitMs();
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
      mayHedge: true,
      post: async (url, options) => read(await postJson(url, body, options)),
    });
  }

  /** Same as `request`, for any way to post. Other errors of `post` are rethrown and are no failures of the service. */
  async exchange<Answer>(exchange: ProviderExchange<Answer>): Promise<Answer> {
    const { deadline, mayRepeat = () => true } = exchange;
    const attemptsMax = Math.max(
      deadline === null ? documentAttemptsMax : queryAttemptsMax,
      this.#endpoints.length,
    );
    const failed = new Set<ModelEndpoint>();
    for (let attempt = 1; ; attempt += 1) {
      await this.#waitUntilUnpaused(deadline);
      const endpoint = this.#chooseEndpoint(failed);
      const wait = endpoint.acquire();
      if (wait > 0) throw this.#unavailableError(this.#lastError ?? 'its requests failed', wait);
      try {
        return await this.#postHedged(exchange, endpoint, failed);
      } catch (error) {
        if (!(error instanceof ProviderError) || error.kind === 'refused') throw error;
        const hasOther = this.#endpoints.some((other) => other.isAvailable && !failed.has(other));
        const backoff = hasOther
          ? 0
          : Math.max(this.#computeBackoffMs(attempt), Math.min(error.retryAfterMs ?? 0, retryAfterMsMax));
        const isFinal = error.kind === 'misconfigured' && !hasOther;
        const isLast = attempt >= attemptsMax || isFinal || !mayRepeat();
        if (isLast || this.#getBreakerWaitMs() > 0 || this.#isPastDeadline(deadline, backoff))
          throw this.#unavailableError(error.message, Math.max(backoff, this.#getBreakerWaitMs()), error);
        if (backoff > 0) await sleep(backoff);
      }
    }
  }

  /** Returns the endpoint for the next request: available, not in `failed` if possible, and with the least work. */
  #chooseEndpoint(failed: ReadonlySet<ModelEndpoint>): ModelEndpoint {
    const first = this.#requests++ % this.#endpoints.length;
    const inTurn = [...this.#endpoints.slice(first), ...this.#endpoints.slice(0, first)];
    const rank = (endpoint: ModelEndpoint) => (endpoint.isAvailable ? 0 : 2) + (failed.has(endpoint) ? 1 : 0);
    const [best] = inTurn.sort(
      (a, b) => rank(a) - rank(b) || waitMsOf(a) - waitMsOf(b) || a.running - b.running,
    );
    return best!;
  }

  /**
   * Posts to `endpoint`; if a query has no reply after `hedgeMs`, also to another endpoint. The first reply counts.
   * Adds the endpoints that failed to `failed`.
   */
  async #postHedged<Answer>(
    exchange: ProviderExchange<Answer>,
    endpoint: ModelEndpoint,
    failed: Set<ModelEndpoint>,
  ): Promise<Answer> {
    const { hedgeMs } = this.#options;
    const isHedged = exchange.deadline !== null && exchange.mayHedge === true && hedgeMs > 0;
    if (!isHedged || this.#endpoints.length === 1) return this.#postOnce(exchange, endpoint, failed);
    const controllers: AbortController[] = [];
    const start = (target: ModelEndpoint) => {
      const controller = new AbortController();
      controllers.push(controller);
      return this.#postOnce(exchange, target, failed, controller.signal);
    };
    const posts = [start(endpoint)];
    const timer = new AbortController();
    try {
      const patience = sleep(hedgeMs, 'late' as const, { signal: timer.signal }).catch(() => 'late' as const);
      const isLate = (await Promise.race([posts[0]!.then(() => 'answered' as const), patience])) === 'late';
      if (isLate) {
        const other = this.#chooseEndpoint(new Set([...failed, endpoint]));
        if (other !== endpoint && other.isAvailable && other.acquire() === 0) posts.push(start(other));
      }
      return await Promise.any(posts);
    } catch (error) {
      throw error instanceof AggregateError ? error.errors[0] : error;
    } finally {
      timer.abort();
      for (const controller of controllers) controller.abort(new SupersededError());
    }
  }

  async #postOnce<Answer>(
    { deadline, post }: ProviderExchange<Answer>,
    endpoint: ModelEndpoint,
    failed: Set<ModelEndpoint>,
    signal?: AbortSignal,
  ): Promise<Answer> {
    const { key, clock, documentMsMax, observe, mayLogReply } = this.#options;
    const started = clock.monotonic();
    const msMax = deadline === null ? documentMsMax : Math.max(1, deadline - started);
    const seconds = () => (clock.monotonic() - started) / 1_000;
    endpoint.running += 1;
    try {
      const output = await post(endpoint.url, {
        key,
        msMax,
        replyBytesMax: limits.providerReplyBytesMax,
        mayLogReply: mayLogReply(),
        now: () => clock.now(),
        fetch: this.#options.fetch,
        ...(signal === undefined ? {} : { signal }),
      });
      observe('answered', seconds());
      this.#recordSuccess(endpoint);
      return output;
    } catch (error) {
      if (!(error instanceof ProviderError)) {
        if (error instanceof SupersededError) observe('superseded', seconds());
        endpoint.recordIgnored();
        throw error;
      }
      observe(error.kind, seconds());
      this.#recordFailure(endpoint, error);
      failed.add(endpoint);
      throw error;
    } finally {
      endpoint.running -= 1;
    }
  }

  #recordFailure(endpoint: ModelEndpoint, error: ProviderError): void {
    const { logger } = this.#options;
    const fields = {
      model: this.model,
      kind: error.kind,
      reason: error.message,
      replyExcerpt: error.replyExcerpt,
      ...(this.#endpoints.length === 1 ? {} : { endpoint: this.#endpoints.indexOf(endpoint) + 1 }),
    };
    // The provider works; only this input is rejected.
    if (error.kind === 'refused') {
      logger.info(fields, 'model service rejected input');
      this.#recordSuccess(endpoint);
      return;
    }
    this.#lastError = error.message;
    endpoint.recordFailure(error);
    logger.warn({ ...fields, breaker: endpoint.state }, 'model service request failed');
  }

  #recordSuccess(endpoint: ModelEndpoint): void {
    const wasDown = this.health.lastError !== null;
    endpoint.recordSuccess();
    if (!wasDown) return;
    this.#lastError = null;
    this.#options.logger.info({ model: this.model }, 'model service recovered');
    this.#options.onRecovered();
  }

  #getBreakerWaitMs(): number {
    return Math.min(...this.#endpoints.map(({ breakerWaitMs }) => breakerWaitMs));
  }

  /**
   * Waits while every endpoint that its circuit breaker permits asked for a pause (`retry-after`); a query whose deadline
   * is earlier fails at once.
   */
  async #waitUntilUnpaused(deadline: number | null): Promise<void> {
    for (;;) {
      const permitted = this.#endpoints.filter(({ breakerWaitMs }) => breakerWaitMs === 0);
      const wait = Math.min(...permitted.map(({ pauseMs }) => pauseMs));
      if (permitted.length === 0 || wait <= 0) return;
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

function waitMsOf({ pauseMs, breakerWaitMs }: ModelEndpoint): number {
  return Math.max(pauseMs, breakerWaitMs);
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
