import { QuarryApiError, QuarryConnectionError, QuarryError, QuarryTimeoutError } from './errors.ts';

export interface ClientOptions {
  /** API key of an organization, or the administrator key for `admin`. */
  readonly apiKey: string;
  /** Address of the server, with or without `/v1`. Default: `http://127.0.0.1:8720`. */
  readonly baseUrl?: string | undefined;
  /**
   * Maximum milliseconds of one attempt, until the reply has been read. Default: 70,000, a little more than the server
   * takes at most.
   */
  readonly timeoutMs?: number | undefined;
  /** Maximum number of retries of a request that failed temporarily. Default: 4. */
  readonly retriesMax?: number | undefined;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** Options of one call; they override those of the client. */
export interface CallOptions extends Pick<ClientOptions, 'timeoutMs' | 'retriesMax' | 'headers'> {
  /** Ends the call, and the wait before a retry, with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

export type RequestBody = NonNullable<RequestInit['body']>;

/** One HTTP request. */
export interface OperationRequest {
  readonly method: string;
  /** Path with its parameters encoded, such as `/v1/models/zembed-1`. */
  readonly path: string;
  /** Undefined values are not sent. */
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Returns the body of an attempt; a body that exists only once cannot be sent again. */
  readonly body?: { readonly create: () => RequestBody; readonly isRepeatable: boolean } | undefined;
  /** Whether the request changes nothing, so that it may be sent again when its reply is lost. */
  readonly isRead: boolean;
}

const baseUrlDefault = 'http://127.0.0.1:8720';
const timeoutMsDefault = 70_000;
const retriesMaxDefault = 4;
const waitMsFirst = 500;
/** A longer wait is an error instead, which tells the caller how long to wait. */
const waitMsMax = 60_000;

/** Sends requests to one server: address, key, timeouts, retries, errors. */
export class Transport {
  readonly #options: ClientOptions;
  readonly #origin: string;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#origin = (options.baseUrl ?? baseUrlDefault).replace(/\/+$/, '').replace(/\/v1$/, '');
    if (!URL.canParse(this.#origin))
      throw new QuarryError(`baseUrl "${options.baseUrl}" is not a URL. Example: ${baseUrlDefault}`);
  }

  /** Returns the JSON of the reply. Throws `QuarryError`, or the reason of `options.signal`. */
  call<Reply>(request: OperationRequest, options: CallOptions = {}): Promise<Reply> {
    return this.#withRetries(request, options, async (response) => {
      const text = await response.text();
      try {
        return JSON.parse(text) as Reply;
      } catch {
        throw new QuarryApiError(response, text);
      }
    });
  }

  /** Returns the reply with its body still to be read, which `timeoutMs` does not limit. Throws as `call` does. */
  open(request: OperationRequest, options: CallOptions = {}): Promise<Response> {
    return this.#withRetries(request, options, (response) => Promise.resolve(response));
  }

  async #withRetries<Result>(
    request: OperationRequest,
    options: CallOptions,
    read: (response: Response) => Promise<Result>,
  ): Promise<Result> {
    const retriesMax = options.retriesMax ?? this.#options.retriesMax ?? retriesMaxDefault;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#attempt(request, options, read);
      } catch (error) {
        const waitMs = attempt < retriesMax && mayRetry(request, error) ? retryWaitMs(error, attempt) : null;
        if (waitMs === null || waitMs > waitMsMax) throw error;
        await pause(waitMs, options.signal);
      }
    }
  }

  async #attempt<Result>(
    request: OperationRequest,
    options: CallOptions,
    read: (response: Response) => Promise<Result>,
  ): Promise<Result> {
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs ?? timeoutMsDefault;
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), timeoutMs);
    const { signal: caller } = options;
    const signal = caller === undefined ? timeout.signal : AbortSignal.any([caller, timeout.signal]);
    try {
      // Called without `this`, which browsers require.
      const send = this.#options.fetch ?? fetch;
      const response = await send(this.#url(request), { ...this.#init(request, options), signal });
      if (!response.ok) throw new QuarryApiError(response, await response.text());
      return await read(response);
    } catch (error) {
      caller?.throwIfAborted();
      if (timeout.signal.aborted) throw new QuarryTimeoutError(timeoutMs);
      throw error instanceof QuarryError ? error : new QuarryConnectionError(this.#origin, error);
    } finally {
      clearTimeout(timer);
    }
  }

  #url({ path, query = {} }: OperationRequest): string {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== null) search.set(name, String(value));
    }
    return `${this.#origin}${path}${search.size > 0 ? `?${search}` : ''}`;
  }

  #init({ method, headers, json, body }: OperationRequest, options: CallOptions): RequestInit {
    const all = new Headers({ ...this.#options.headers, ...options.headers, ...headers });
    all.set('authorization', `Bearer ${this.#options.apiKey}`);
    if (json !== undefined) {
      all.set('content-type', 'application/json');
      return { method, headers: all, body: JSON.stringify(json) };
    }
    // `duplex` is required for a body that is a stream.
    return body === undefined
      ? { method, headers: all }
      : ({ method, headers: all, body: body.create(), duplex: 'half' } as RequestInit);
  }
}

function mayRetry({ body, isRead }: OperationRequest, error: unknown): boolean {
  if (body?.isRepeatable === false) return false;
  if (error instanceof QuarryApiError) return error.mayRetry;
  return error instanceof QuarryConnectionError && (isRead || error.isBeforeRequest);
}

/** The time that the server names, else exponential backoff with jitter, so that clients do not return together. */
function retryWaitMs(error: unknown, attempt: number): number {
  const named = error instanceof QuarryApiError ? error.retryAfterMs : null;
  return named ?? Math.min(waitMsMax, waitMsFirst * 2 ** attempt) * (0.5 + Math.random() / 2);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted === true) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}

/** Encodes a value as one segment of a path. Throws for `.` and `..`, which no URL can contain. */
export function encodeSegment(value: string): string {
  if (value === '.' || value === '..')
    throw new QuarryError(
      `"${value}" cannot be part of a URL. For a document, use uploadDocument or addDocument.`,
    );
  return encodeURIComponent(value);
}
