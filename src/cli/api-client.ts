import { setTimeout as sleep } from 'node:timers/promises';
import { flagName, variableName } from '../config/schema.ts';
import { AppError } from '../core/app-error.ts';
import { withTimeout } from '../core/async/with-timeout.ts';
import { readServerSentEvents, type ServerSentEvent } from '../core/server-sent-events.ts';

const callMsMax = 70_000;
const attemptsMax = 6;
const waitMsMax = 60_000;
const waitMsFirst = 500;

/** Error reply of the server. `message` is the server's message; for 401, it names the setting of the key. */
export class ApiResponseError extends Error {
  override readonly name = 'ApiResponseError';
  readonly status: number;
  /** Milliseconds that the server asks to wait before a retry; null if not specified. */
  readonly retryAfterMs: number | null;
  /**
   * Whether the same request may succeed later: too many requests, or the server is starting, stopping or
   * busy.
   */
  readonly mayRetry: boolean;

  constructor(status: number, detail: string, retryAfterMs: number | null, mayRetry: boolean) {
    super(detail);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.mayRetry = mayRetry;
  }
}

export interface ApiClientOptions {
  /** Base URL of the server, with or without /v1. */
  readonly url: string;
  readonly key: string | null;
  /** Setting that provides the key; named in the message about a missing or wrong key. */
  readonly keySetting: 'apiKey' | 'adminKey';
  /** Id of the organization for requests with a session token; an API key implies its own organization. */
  readonly organization: string | null;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** HTTP client of the public API, without special privileges. */
export class ApiClient {
  readonly url: string;
  readonly signal: AbortSignal;
  readonly #key: string | null;
  readonly #keySetting: ApiClientOptions['keySetting'];
  readonly #organization: string | null;

  constructor(options: ApiClientOptions) {
    this.url = options.url.replace(/\/+$/, '').replace(/\/v1$/, '');
    this.signal = options.signal;
    this.#key = options.key;
    this.#keySetting = options.keySetting;
    this.#organization = options.organization;
  }

  /** Returns a client for the same server and key that Ctrl-C does not abort; intended for cleanup. */
  withoutInterrupt(): ApiClient {
    const { url } = this;
    const { signal } = new AbortController();
    return new ApiClient({
      url,
      key: this.#key,
      keySetting: this.#keySetting,
      organization: this.#organization,
      signal,
    });
  }

  /**
   * Calls one JSON operation, for example `collections/get-collection-list`. Retries with backoff while the
   * server is busy. Errors: `ApiResponseError`; AppError `unavailable` if no server responds.
   */
  call<Reply>(operation: string, body: object): Promise<Reply> {
    return this.callAt(`/v1/${operation}`, body);
  }

  /** Same as `call`, for a path outside of `/v1`. */
  async callAt<Reply>(path: string, body: object): Promise<Reply> {
    const text = JSON.stringify(body);
    return this.#withRetries(() =>
      withTimeout({ signal: this.signal, msMax: callMsMax }, async (signal) => {
        const reply = await this.send(path, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: text,
          signal,
        });
        return (await reply.json()) as Reply;
      }),
    );
  }

  /** Calls an operation that replies with an event stream. Retries and errors as in `call`, until the stream begins. */
  async *streamEvents(operation: string, body: object): AsyncGenerator<ServerSentEvent, void, undefined> {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    const reply = await this.#withRetries(() => this.send(`/v1/${operation}`, init));
    if (reply.body === null) return;
    yield* readServerSentEvents(reply.body);
  }

  /** Opens a file by the URL of a reply. Retries and errors as in `call`. */
  download(url: string): Promise<Response> {
    return this.#withRetries(() => this.send(url, {}));
  }

  async #withRetries<Reply>(attemptOnce: () => Promise<Reply>): Promise<Reply> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await attemptOnce();
      } catch (error) {
        if (!(error instanceof ApiResponseError) || !error.mayRetry || attempt >= attemptsMax) throw error;
        await sleep(backOffMs(error.retryAfterMs, attempt), undefined, { signal: this.signal });
      }
    }
  }

  /** Sends one request without retries. `path` starts with a slash, or is an absolute URL that needs no key. */
  async send(path: string, init: RequestInit): Promise<Response> {
    const isServerPath = path.startsWith('/');
    const headers = new Headers(init.headers);
    if (isServerPath && this.#key !== null) headers.set('authorization', `Bearer ${this.#key}`);
    if (isServerPath && this.#organization !== null) headers.set('x-quarry-organization', this.#organization);
    let response: Response;
    try {
      response = await fetch(isServerPath ? `${this.url}${path}` : path, {
        signal: this.signal,
        ...init,
        headers,
      });
    } catch (error) {
      this.signal.throwIfAborted();
      throw serverUnreachable(this.url, error);
    }
    if (response.ok) return response;
    throw await toResponseError(response, (detail) => this.#describeKeyProblem(detail));
  }

  /** The server's sentence suggests an HTTP header, which the user of a command does not send. */
  #describeKeyProblem(detail: string): string {
    const settings = `${variableName(this.#keySetting)} or ${flagName(this.#keySetting)}`;
    if (this.#key !== null) return `${detail.replace(/ Send the header .*$/, '')} Check ${settings}.`;
    return `No ${this.#keySetting === 'apiKey' ? 'API' : 'admin'} key. Set ${settings}.`;
  }
}

/** Returns the milliseconds to wait: the server's value, else exponential backoff; at most one minute. */
export function backOffMs(retryAfterMs: number | null, attempt: number): number {
  return Math.min(waitMsMax, retryAfterMs ?? waitMsFirst * 2 ** Math.min(attempt - 1, 10));
}

async function toResponseError(
  response: Response,
  describeKeyProblem: (detail: string) => string,
): Promise<ApiResponseError> {
  const text = await response.text();
  const isRetryAllowed = response.headers.get('x-should-retry') !== 'false';
  const mayRetry = isRetryAllowed && (response.status === 429 || response.status === 503);
  const message = messageOf(response, text);
  return new ApiResponseError(
    response.status,
    response.status === 401 ? describeKeyProblem(message) : message,
    parseRetryAfterMs(response.headers),
    mayRetry,
  );
}

/** Returns the error message of a reply: `detail` is a sentence, or with 422 a list of issues. */
function messageOf(response: Response, text: string): string {
  const detail = parseDetail(text);
  if (typeof detail === 'string') return detail;
  if (Array.isArray(detail)) {
    return detail
      .map((issue: { loc?: string[]; msg?: string }) => `${(issue.loc ?? []).join('.')}: ${issue.msg ?? ''}`)
      .join('; ');
  }
  return `${response.url} returned ${response.status} ${response.statusText}.`;
}

function parseDetail(text: string): unknown {
  try {
    return (JSON.parse(text) as { detail?: unknown } | null)?.detail;
  } catch {
    // Not JSON: the server is not Quarry, so that only its status can be reported.
    return null;
  }
}

function parseRetryAfterMs(headers: Headers): number | null {
  const milliseconds = headers.get('retry-after-ms');
  if (milliseconds !== null && /^\d+$/.test(milliseconds)) return Number(milliseconds);
  const seconds = headers.get('retry-after');
  return seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) * 1000 : null;
}

function serverUnreachable(url: string, cause: unknown): AppError {
  return new AppError(
    'unavailable',
    `Cannot connect to a Quarry server at ${url} (${reasonOf(cause)}). Start one with \`quarry serve\`, or set --url or QUARRY_URL.`,
    { cause },
  );
}

/** Returns the innermost cause of a fetch error, which is one or two levels deep. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  if (inner !== undefined) return reasonOf(inner);
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
