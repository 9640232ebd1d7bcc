import type { IncomingMessage } from 'node:http';
import { AppError } from '../../core/app-error.ts';
import { withTimeout } from '../../core/async/with-timeout.ts';
import { sourceLimits } from '../../core/source-limits.ts';
import { version } from '../../core/version.ts';
import type { PinnedConnections } from '../../egress/pinned-connections.ts';
import { type DavResource, propertiesRequest, readMultistatus } from './multistatus.ts';

export interface WebDavClientOptions {
  readonly connections: Pick<PinnedConnections, 'get' | 'requestSafely'>;
  /** Null: requests have no credentials. */
  readonly credentials: { readonly username: string; readonly password: string } | null;
}

export interface DavListing {
  readonly resources: readonly DavResource[];
  /** Time of the server in milliseconds since the epoch; null if the reply has none. */
  readonly at: number | null;
}

/** Requests of WebDAV. A redirect is an error, because another server must not receive the credentials. */
export class WebDavClient {
  readonly #options: WebDavClientOptions;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(options: WebDavClientOptions) {
    this.#options = options;
    const { credentials } = options;
    const token = Buffer.from(`${credentials?.username}:${credentials?.password}`).toString('base64');
    this.#headers = {
      'user-agent': `quarry/${version}`,
      'accept-encoding': 'identity',
      ...(credentials === null ? {} : { authorization: `Basic ${token}` }),
    };
  }

  /**
   * Returns the properties of a resource, and with the depth 1 those of its children; null if it does not exist. Errors:
   * AppError; the reason of the signal.
   */
  async list(url: URL, depth: 0 | 1, signal: AbortSignal): Promise<DavListing | null> {
    const { davListingMsMax: msMax } = sourceLimits;
    try {
      return await withTimeout({ signal, msMax }, async (bounded) => {
        try {
          return await this.#list(url, depth, bounded);
        } catch (error) {
          // The error of the connection does not name the time limit.
          bounded.throwIfAborted();
          throw error;
        }
      });
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof AppError) throw cause;
      const { message } = cause as Error;
      throw new AppError('bad_gateway', `The listing of ${url.href} failed: ${message}.`, { cause });
    }
  }

  async #list(url: URL, depth: 0 | 1, signal: AbortSignal): Promise<DavListing | null> {
    const headers = { ...this.#headers, depth: String(depth), 'content-type': 'application/xml' };
    const options = { method: 'PROPFIND', headers, body: propertiesRequest, signal };
    const reply = await this.#options.connections.requestSafely(url, options);
    try {
      if (isMissing(reply)) return null;
      if (reply.statusCode !== 207) throw statusError(url, reply);
      const resources = await readMultistatus(decode(reply, url));
      const at = Date.parse(reply.headers.date ?? '');
      return { resources, at: Number.isNaN(at) ? null : at };
    } finally {
      reply.destroy();
    }
  }

  /** Opens the content of a file; null if it does not exist. Errors: AppError; the reason of the signal. */
  async open(url: URL, signal: AbortSignal): Promise<AsyncIterable<Uint8Array> | null> {
    const reply = await this.#options.connections.get(url, { headers: this.#headers, signal });
    if (reply.statusCode === 200) return readFile(reply, url, signal);
    reply.destroy();
    if (isMissing(reply)) return null;
    throw statusError(url, reply);
  }
}

/** Errors: `too_large`; those of the connection. */
async function* decode(reply: IncomingMessage, url: URL): AsyncGenerator<string, void, void> {
  const { davListingBytesMax } = sourceLimits;
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const part of reply as AsyncIterable<Uint8Array>) {
    bytes += part.byteLength;
    if (bytes > davListingBytesMax)
      throw new AppError(
        'too_large',
        `The listing of ${url.href} has more than ${davListingBytesMax} bytes.`,
      );
    yield decoder.decode(part, { stream: true });
  }
  yield decoder.decode();
}

async function* readFile(
  reply: IncomingMessage,
  url: URL,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  const { davFileMsMax } = sourceLimits;
  const timer = setTimeout(
    () => reply.destroy(new Error(`the file was not complete within ${davFileMsMax} ms`)),
    davFileMsMax,
  );
  try {
    yield* reply as AsyncIterable<Uint8Array>;
  } catch (cause) {
    signal.throwIfAborted();
    const { message } = cause as Error;
    throw new AppError('bad_gateway', `Reading ${url.href} failed: ${message}.`, { cause });
  } finally {
    clearTimeout(timer);
    reply.destroy();
  }
}

const isMissing = ({ statusCode }: IncomingMessage) => statusCode === 404 || statusCode === 410;

function statusError({ href }: URL, { statusCode = 0, headers }: IncomingMessage): AppError {
  if (statusCode >= 300 && statusCode < 400)
    return new AppError('bad_gateway', `${href} redirects to ${headers.location}. Use that URL.`);
  if (statusCode === 401)
    return new AppError('bad_gateway', `${href} needs a user name and a password. Check the credentials.`);
  if (statusCode === 200 || statusCode === 405 || statusCode === 501)
    return new AppError('bad_gateway', `${href} does not support WebDAV. Check the URL.`);
  return new AppError('bad_gateway', `${href} replied with status ${statusCode}.`);
}
