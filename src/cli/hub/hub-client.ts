import type { Readable } from 'node:stream';
import { EnvHttpProxyAgent, request } from 'undici';
import type { HubVariables } from '../../config/settings.ts';
import { HubError } from './hub-error.ts';
import { type HubRepository, readHubRepository } from './hub-repository.ts';

/** Content of a file from byte `start` on; `bytes` of the rest are null if the hub does not tell. */
export interface OpenedFile {
  readonly start: number;
  readonly bytes: number | null;
  readonly body: Readable;
}

export interface HubClientOptions extends HubVariables {
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

const redirectsMax = 5;
const listBytesMax = 16 * 1_048_576;
/** Time to connect, until the headers of a reply, and between two parts of its body. */
const idleMsMax = 30_000;
const retryAfterMsMax = 60_000;
const redirects: readonly number[] = [301, 302, 303, 307, 308];

type HubReply = Awaited<ReturnType<typeof request>>;

/** Client of the Hugging Face hub, or of a mirror with its API. The server never uses it. */
export class HubClient {
  readonly endpoint: URL;
  /** Whether the token is sent: never over an unencrypted connection to another machine. */
  readonly sendsToken: boolean;
  readonly #options: HubClientOptions;
  readonly #agent: EnvHttpProxyAgent;

  /** Errors: TypeError for an endpoint or proxy that is no URL. */
  constructor(options: HubClientOptions) {
    const { endpoint, token, httpProxy, httpsProxy, noProxy } = options;
    this.#options = options;
    this.endpoint = new URL(endpoint);
    const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(this.endpoint.hostname);
    this.sendsToken = token !== null && (isLocal || this.endpoint.protocol === 'https:');
    this.#agent = new EnvHttpProxyAgent({
      httpProxy,
      httpsProxy,
      noProxy,
      connect: { timeout: idleMsMax },
      headersTimeout: idleMsMax,
      bodyTimeout: idleMsMax,
    });
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** Returns the commit, license and files of a repository at a revision. Errors: HubError. */
  async readRepository(name: string, revision: string): Promise<HubRepository> {
    const path = `/api/models/${name}/revision/${encodeURIComponent(revision)}?blobs=true`;
    const reply = await this.#get(path, {}, `the repository ${name} or its revision ${revision}`);
    let text = '';
    reply.body.setEncoding('utf8');
    for await (const part of reply.body) {
      text += part as string;
      if (text.length > listBytesMax)
        throw new HubError(`the list of files of ${name} is larger than ${listBytesMax} bytes`);
    }
    try {
      return readHubRepository(JSON.parse(text));
    } catch (cause) {
      const reason = (cause as Error).message.replace(/\.$/, '');
      throw new HubError(`the hub sent no valid list of files of ${name}: ${reason}`, { cause });
    }
  }

  /** Opens a file of a commit at a byte. The hub may ignore the position: see `start`. Errors: HubError. */
  async openFile(
    repository: string,
    { commit, path, offset }: { readonly commit: string; readonly path: string; readonly offset: number },
  ): Promise<OpenedFile> {
    const encodedPath = path.split('/').map(encodeURIComponent).join('/');
    const headers = offset === 0 ? {} : { range: `bytes=${offset}-` };
    const reply = await this.#get(`/${repository}/resolve/${commit}/${encodedPath}`, headers, path);
    const length = Number(reply.headers['content-length'] ?? Number.NaN);
    const bytes = Number.isSafeInteger(length) ? length : null;
    if (reply.statusCode === 200) return { start: 0, bytes, body: reply.body };
    const [, start] = /^bytes (\d+)-/.exec(String(reply.headers['content-range'] ?? '')) ?? [];
    if (Number(start) === offset) return { start: offset, bytes, body: reply.body };
    discard(reply.body);
    throw new HubError(`the hub sent another part of ${path} than requested`, { status: reply.statusCode });
  }

  /** Follows redirects, which lead to storage of other hosts: only the hub gets the token. */
  async #get(path: string, headers: Readonly<Record<string, string>>, what: string): Promise<HubReply> {
    let url = new URL(this.endpoint.href.replace(/\/$/, '') + path);
    for (let count = 0; ; count += 1) {
      const reply = await this.#send(url, headers);
      if (!redirects.includes(reply.statusCode)) return this.#check(reply, url, what);
      discard(reply.body);
      const location = String(reply.headers.location ?? '');
      const target = URL.canParse(location, url.href) ? new URL(location, url) : null;
      if (count >= redirectsMax)
        throw new HubError(`${url.host} redirects ${what} more than ${redirectsMax} times`);
      const isDowngrade = url.protocol === 'https:' && target?.protocol !== 'https:';
      if (target === null || !/^https?:$/.test(target.protocol) || isDowngrade)
        throw new HubError(`${url.host} redirects ${what} to an unencrypted or invalid address`);
      url = target;
    }
  }

  async #send(url: URL, headers: Readonly<Record<string, string>>): Promise<HubReply> {
    const { token, signal } = this.#options;
    const mayAuthenticate = this.sendsToken && url.origin === this.endpoint.origin;
    try {
      return await request(url, {
        dispatcher: this.#agent,
        signal,
        headers: {
          'user-agent': 'quarry',
          'accept-encoding': 'identity',
          ...headers,
          ...(mayAuthenticate ? { authorization: `Bearer ${token}` } : {}),
        },
      });
    } catch (cause) {
      signal.throwIfAborted();
      throw new HubError(`${url.host} does not respond: ${(cause as Error).message}`, {
        mayRetry: true,
        cause,
      });
    }
  }

  #check(reply: HubReply, url: URL, what: string): HubReply {
    const { statusCode: status } = reply;
    if (status === 200 || status === 206) return reply;
    discard(reply.body);
    const answer = `${url.host} returned status ${status} for ${what}`;
    const hint = hints[status];
    const seconds = Number(reply.headers['retry-after'] ?? Number.NaN);
    throw new HubError(hint === undefined ? answer : `${answer}: ${hint}`, {
      status,
      mayRetry: status === 429 || status === 408 || status >= 500,
      retryAfterMs: Number.isFinite(seconds) ? Math.min(retryAfterMsMax, Math.max(0, seconds) * 1_000) : null,
    });
  }
}

/** Ends a reply whose content is not read. The body then emits an error, which says only that it was ended. */
export function discard(body: Readable): void {
  body.once('error', () => {}).destroy();
}

const hints: Readonly<Record<number, string>> = {
  401: 'it does not exist, or it is private and HF_TOKEN is missing or wrong',
  403: 'access is restricted. Accept the license on the page of the model, and set HF_TOKEN to a token of that account',
  404: 'it does not exist, or HF_TOKEN gives no access to it',
  429: 'too many requests. Try again later, or set HF_TOKEN for a higher limit',
};
