import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../base/app-error.ts';
import { withTimeout } from '../base/with-timeout.ts';

const callMsMax = 70_000;
const attemptsMax = 6;
const waitMsMax = 60_000;
const waitMsFirst = 500;

/** The server answered, and the answer is no. The message is its sentence. */
export class ReplyFailure extends Error {
  override readonly name = 'ReplyFailure';
  readonly status: number;
  /** What the server asks to wait before another try; null when it does not say. */
  readonly retryAfterMs: number | null;
  /** True when the same request may succeed later: too many requests, or the server is busy starting or stopping. */
  readonly mayRetry: boolean;

  constructor(status: number, detail: string, retryAfterMs: number | null, mayRetry: boolean) {
    super(detail);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.mayRetry = mayRetry;
  }
}

export interface ApiOptions {
  /** Address of the server, with or without /v1. */
  readonly url: string;
  readonly key: string | null;
  /** Whose collections and usage are meant where the key is somebody's session; a key has its own. */
  readonly organization: string | null;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** The public API over HTTP, as any other client sees it. */
export class Api {
  readonly url: string;
  readonly signal: AbortSignal;
  readonly #key: string | null;
  readonly #organization: string | null;

  constructor(options: ApiOptions) {
    this.url = options.url.replace(/\/+$/, '').replace(/\/v1$/, '');
    this.signal = options.signal;
    this.#key = options.key;
    this.#organization = options.organization;
  }

  /** The same server with the same key, for what has to be done in spite of Ctrl-C. */
  uninterrupted(): Api {
    const { url } = this;
    const { signal } = new AbortController();
    return new Api({ url, key: this.#key, organization: this.#organization, signal });
  }

  /**
   * One JSON operation, for example `collections/get-collection-list`. Waits and tries again when the server is busy.
   * Throws ReplyFailure, or AppError `unavailable` when nobody answers.
   */
  call<Reply>(operation: string, body: object): Promise<Reply> {
    return this.callAt(`/v1/${operation}`, body);
  }

  /** `call` for an address that is not under `/v1`. */
  async callAt<Reply>(path: string, body: object): Promise<Reply> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await withTimeout({ signal: this.signal, msMax: callMsMax }, async (signal) => {
          const reply = await this.send(path, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(body),
            signal,
          });
          return (await reply.json()) as Reply;
        });
      } catch (error) {
        if (!(error instanceof ReplyFailure) || !error.mayRetry || attempt >= attemptsMax) throw error;
        await sleep(backOffMs(error.retryAfterMs, attempt), undefined, { signal: this.signal });
      }
    }
  }

  /** One request without a second try; `path` starts with a slash, or is a whole address that needs no key. */
  async send(path: string, init: RequestInit): Promise<Response> {
    const ownPath = path.startsWith('/');
    const headers = new Headers(init.headers);
    if (ownPath && this.#key !== null) headers.set('authorization', `Bearer ${this.#key}`);
    if (ownPath && this.#organization !== null) headers.set('x-quarry-organization', this.#organization);
    let response: Response;
    try {
      response = await fetch(ownPath ? `${this.url}${path}` : path, {
        signal: this.signal,
        ...init,
        headers,
      });
    } catch (error) {
      this.signal.throwIfAborted();
      throw unreachable(this.url, error);
    }
    if (response.ok) return response;
    throw await replyFailure(response);
  }
}

/** Milliseconds to wait: what the server asked for, else twice as long each time; never more than a minute. */
export function backOffMs(retryAfterMs: number | null, attempt: number): number {
  return Math.min(waitMsMax, retryAfterMs ?? waitMsFirst * 2 ** Math.min(attempt - 1, 10));
}

async function replyFailure(response: Response): Promise<ReplyFailure> {
  const text = await response.text();
  const retry = response.headers.get('x-should-retry') !== 'false';
  const mayRetry = retry && (response.status === 429 || response.status === 503);
  return new ReplyFailure(
    response.status,
    sentenceOf(response, text),
    retryAfter(response.headers),
    mayRetry,
  );
}

/** `detail` is a sentence, or with 422 a list of faults. */
function sentenceOf(response: Response, text: string): string {
  const detail = detailOf(text);
  if (typeof detail === 'string') return detail;
  if (Array.isArray(detail)) {
    return detail
      .map((issue: { loc?: string[]; msg?: string }) => `${(issue.loc ?? []).join('.')}: ${issue.msg ?? ''}`)
      .join('; ');
  }
  return `${response.url} answered ${response.status} ${response.statusText}.`;
}

function detailOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { detail?: unknown } | null)?.detail;
  } catch {
    // Not JSON: something else than Quarry answers there, and its status is all there is to tell.
    return null;
  }
}

function retryAfter(headers: Headers): number | null {
  const milliseconds = headers.get('retry-after-ms');
  if (milliseconds !== null && /^\d+$/.test(milliseconds)) return Number(milliseconds);
  const seconds = headers.get('retry-after');
  return seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) * 1000 : null;
}

function unreachable(url: string, cause: unknown): AppError {
  return new AppError(
    'unavailable',
    `No Quarry server answers at ${url} (${reasonOf(cause)}). Start one with \`quarry serve\`, or name its address with --url or QUARRY_URL.`,
    { cause },
  );
}

/** fetch hides the reason one or two causes deep. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  if (inner !== undefined) return reasonOf(inner);
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
