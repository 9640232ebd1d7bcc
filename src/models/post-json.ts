import { type Egress, findEgressDenial } from '../egress/egress.ts';

/** Failed request to a provider, or an unusable reply. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  /**
   * refused: this input is invalid; busy: too many requests; failed: a retry may succeed; misconfigured: a
   * retry fails until the configuration changes.
   */
  readonly kind: 'refused' | 'busy' | 'failed' | 'misconfigured';
  /** Milliseconds of the provider's `retry-after`. */
  readonly retryAfterMs: number | null;
  /** Excerpt of the provider's error message, for the log. */
  readonly replyExcerpt: string;

  constructor(
    kind: ProviderError['kind'],
    reason: string,
    {
      retryAfterMs = null,
      replyExcerpt = '',
      cause,
    }: Partial<Pick<ProviderError, 'retryAfterMs' | 'replyExcerpt' | 'cause'>> = {},
  ) {
    super(reason, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
    this.replyExcerpt = replyExcerpt;
  }
}

export interface PostOptions {
  readonly key: string | null;
  /** Maximum milliseconds of the request, including reading the reply. */
  readonly msMax: number;
  readonly replyBytesMax: number;
  /** Whether error replies may be passed on; they may quote the request. */
  readonly mayLogReply: boolean;
  /** Milliseconds since the epoch; used for a `retry-after` that is a date. */
  readonly now: () => number;
  readonly fetch: Egress['fetch'];
  /** Aborts the request on behalf of the caller, whose reason is then the error. */
  readonly signal?: AbortSignal;
}

/** Maximum characters of an error message that are passed on. */
const excerptUnitsMax = 500;
/** Maximum bytes read of an error reply. */
const errorBytesMax = 2_000;
/**
 * Statuses that indicate invalid input; every other status from 400 to 499 except 408 and 429 indicates a
 * wrong configuration.
 */
const inputErrorStatuses: ReadonlySet<number> = new Set([400, 413, 422]);

/** Posts JSON and returns the parsed reply. Does not follow redirects. Errors: `ProviderError` only. */
export function postJson(url: string, body: object, options: PostOptions): Promise<unknown> {
  return post(url, body, { ...options, accept: 'application/json' }, async (reply) =>
    parseReply(await readBounded(reply, options.replyBytesMax), options.mayLogReply),
  );
}

/**
 * Posts JSON and returns the result of `read` for the pieces of a reply of server-sent events. Does not follow redirects.
 * Errors: `ProviderError`, and the reason of an aborted signal.
 */
export function postForEvents<Answer>(
  url: string,
  body: object,
  options: PostOptions,
  read: (pieces: AsyncIterable<Uint8Array>) => Promise<Answer>,
): Promise<Answer> {
  return post(url, body, { ...options, accept: 'text/event-stream' }, (reply) => {
    if (!/^text\/event-stream\b/i.test(reply.headers.get('content-type') ?? ''))
      throw new ProviderError('failed', 'reply is not an event stream');
    return read(boundedPieces(reply, options.replyBytesMax));
  });
}

async function post<Answer>(
  url: string,
  body: object,
  options: PostOptions & { readonly accept: string },
  read: (reply: Response) => Promise<Answer>,
): Promise<Answer> {
  const { key, msMax, accept, signal } = options;
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = setTimeout(abort, msMax);
  signal?.addEventListener('abort', abort, { once: true });
  let hasReply = false;
  try {
    signal?.throwIfAborted();
    const reply = await options.fetch(url, {
      method: 'POST',
      signal: controller.signal,
      headers: {
        'content-type': 'application/json',
        accept,
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify(body),
    });
    if (!reply.ok) throw await toProviderError(reply, options);
    hasReply = true;
    return await read(reply);
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    signal?.throwIfAborted();
    const refused = findEgressDenial(error);
    if (refused !== null) throw new ProviderError('misconfigured', refused.message, { cause: refused });
    const lost = hasReply ? 'the connection was lost' : 'no connection';
    const timedOut = `no ${hasReply ? 'complete ' : ''}reply within ${Math.round(msMax)} ms`;
    const reason = controller.signal.aborted ? timedOut : lost;
    throw new ProviderError('failed', reason, { replyExcerpt: describeCauses(error), cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    // Cancels the unread rest of the reply.
    controller.abort();
  }
}

async function toProviderError(
  reply: Response,
  { key, now, mayLogReply }: PostOptions,
): Promise<ProviderError> {
  const { status } = reply;
  const text = await readBounded(reply, errorBytesMax, true).catch(() => '');
  const replyExcerpt = toExcerpt(key === null ? text : text.replaceAll(key, '***'), mayLogReply);
  const retryAfterMs = parseRetryAfter(reply.headers.get('retry-after'), now());
  const reason = `HTTP status ${status}`;
  if (status === 429) return new ProviderError('busy', reason, { retryAfterMs, replyExcerpt });
  if (inputErrorStatuses.has(status)) return new ProviderError('refused', reason, { replyExcerpt });
  if (status >= 500 || status === 408)
    return new ProviderError('failed', reason, { retryAfterMs, replyExcerpt });
  return new ProviderError('misconfigured', reason, { replyExcerpt });
}

/** Returns an error message short enough for a log; only its length if it may not be quoted. */
function toExcerpt(text: string, mayLogReply: boolean): string {
  if (!mayLogReply) return `withheld: ${text.length} characters`;
  return text.length > excerptUnitsMax ? `${text.slice(0, excerptUnitsMax)}...` : text;
}

/** Parses a `retry-after` in seconds or as a date (RFC 9110); returns milliseconds from now. */
function parseRetryAfter(header: string | null, now: number): number | null {
  if (header === null) return null;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}

/**
 * Reads the text of a reply of at most `bytesMax` bytes. `isTruncated`: returns the beginning of a longer one
 * instead of an error.
 */
async function readBounded(reply: Response, bytesMax: number, isTruncated = false): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of boundedPieces(reply, isTruncated ? Number.POSITIVE_INFINITY : bytesMax)) {
    bytes += part.length;
    parts.push(part);
    if (bytes > bytesMax) break;
  }
  return Buffer.concat(parts).subarray(0, bytesMax).toString('utf8');
}

/** Yields the pieces of a reply. Errors: `ProviderError` if they have more than `bytesMax` bytes. */
async function* boundedPieces(
  reply: Response,
  bytesMax: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  for await (const part of reply.body ?? []) {
    bytes += part.length;
    if (bytes > bytesMax) throw new ProviderError('failed', `reply exceeds ${bytesMax} bytes`);
    yield part;
  }
}

function parseReply(text: string, mayLogReply: boolean): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Without the cause, because its message quotes the reply.
    throw new ProviderError('failed', 'reply is not JSON', {
      replyExcerpt: toExcerpt(text, mayLogReply),
    });
  }
}

/** Returns the messages of the cause chain: the error of `fetch` itself only states that it failed. */
function describeCauses(error: unknown): string {
  const messages: string[] = [];
  for (let cause = error; cause instanceof Error && messages.length < 4; cause = cause.cause)
    messages.push(cause.message);
  return messages.join(': ');
}
