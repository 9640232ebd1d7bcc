import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../core/app-error.ts';
import type { Clock } from '../../core/clock.ts';
import { sourceLimits } from '../../core/source-limits.ts';
import { version } from '../../core/version.ts';
import type { PinnedConnections } from '../../egress/pinned-connections.ts';

/** Name of the crawler in the headers of requests and in robots.txt. */
export const crawlerName = 'quarry';

export interface WebReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty unless the status is 200. */
  readonly body: Buffer;
}

/** Validators of an earlier reply. */
export interface Validators {
  readonly etag?: string;
  readonly modified?: string;
}

export interface WebClientOptions {
  readonly connections: PinnedConnections;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly requestsPerSecond: number;
  /** Value of the header `authorization`; null: none. */
  readonly authorization: string | null;
  /** Origin that gets the authorization. */
  readonly origin: string;
}

/** Fetches pages one after another, at most at the given rate. */
export class WebClient {
  readonly #options: WebClientOptions;
  #intervalMs: number;
  #nextAt = 0;

  constructor(options: WebClientOptions) {
    this.#options = options;
    this.#intervalMs = 1_000 / options.requestsPerSecond;
  }

  /** Waits at least this time between two requests. */
  delay(ms: number): void {
    this.#intervalMs = Math.max(this.#intervalMs, Math.min(ms, sourceLimits.crawlDelayMsMax));
  }

  /** Returns any reply, including a redirect. Errors: AppError; the reason of the signal. */
  async get(url: URL, signal: AbortSignal, known: Validators = {}): Promise<WebReply> {
    await this.#waitForTurn(signal);
    const { connections, authorization, origin } = this.#options;
    connections.checkUrl(url.href);
    const reply = await connections.get(url, {
      signal,
      headers: {
        'user-agent': `${crawlerName}/${version}`,
        accept: '*/*',
        'accept-encoding': 'identity',
        ...(authorization !== null && url.origin === origin ? { authorization } : {}),
        ...(known.etag === undefined ? {} : { 'if-none-match': known.etag }),
        ...(known.modified === undefined ? {} : { 'if-modified-since': known.modified }),
      },
    });
    const status = reply.statusCode ?? 0;
    const headers = Object.fromEntries(
      Object.entries(reply.headers).map(([name, value]) => [name, String(value ?? '')]),
    );
    if (status !== 200) {
      reply.resume();
      return { status, headers, body: Buffer.alloc(0) };
    }
    return { status, headers, body: await readBody(reply, url) };
  }

  /** Follows redirects. Returns the last reply with its URL. */
  async follow(
    url: URL,
    signal: AbortSignal,
    known: Validators = {},
  ): Promise<WebReply & { readonly url: URL }> {
    let target = url;
    for (let redirects = 0; ; redirects += 1) {
      const reply = await this.get(target, signal, known);
      const next = redirectOf(reply, target);
      if (next === null) return { ...reply, url: target };
      if (redirects === sourceLimits.redirectsMax)
        throw new AppError(
          'bad_gateway',
          `The URL ${url.href} has more than ${sourceLimits.redirectsMax} redirects.`,
        );
      target = next;
    }
  }

  async #waitForTurn(signal: AbortSignal): Promise<void> {
    const now = this.#options.clock.monotonic();
    const startAt = Math.max(now, this.#nextAt);
    this.#nextAt = startAt + this.#intervalMs;
    if (startAt > now) await sleep(startAt - now, undefined, { signal });
  }
}

/** Returns the target of a redirect; null for other replies. */
export function redirectOf({ status, headers }: WebReply, from: URL): URL | null {
  const { location } = headers;
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return null;
  return URL.canParse(location, from.href) ? new URL(location, from.href) : null;
}

export function validatorsOf({ headers }: WebReply): Validators {
  const { etag, 'last-modified': modified } = headers;
  return { ...(etag === undefined ? {} : { etag }), ...(modified === undefined ? {} : { modified }) };
}

async function readBody(parts: AsyncIterable<Uint8Array>, url: URL): Promise<Buffer> {
  const { pageBytesMax } = sourceLimits;
  const received: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of parts) {
      bytes += part.byteLength;
      if (bytes > pageBytesMax)
        throw new AppError('too_large', `The page ${url.href} has more than ${pageBytesMax} bytes.`);
      received.push(part);
    }
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('bad_gateway', `The connection ended before the page ${url.href} was complete.`, {
      cause,
    });
  }
  return Buffer.concat(received);
}

/** Decodes a body by the charset of its header or XML declaration; UTF-8 by default. */
export function textOf({ headers, body }: Pick<WebReply, 'headers' | 'body'>): string {
  const start = body.subarray(0, 200).toString('latin1');
  const [, label = 'utf-8'] =
    /charset=["']?([\w-]+)/i.exec(headers['content-type'] ?? '') ??
    /^<\?xml[^>]*encoding=["']([\w-]+)/i.exec(start) ??
    [];
  try {
    return new TextDecoder(label).decode(body);
  } catch {
    // An unknown charset.
    return body.toString('utf8');
  }
}
