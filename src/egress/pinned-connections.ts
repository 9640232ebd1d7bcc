import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { AppError } from '../core/app-error.ts';
import { defaultPort, type EgressAgents, type EgressMode, normalizeHost } from './egress.ts';
import { permitConnection } from './guard-sockets.ts';
import { isPrivateAddress } from './private-addresses.ts';

export interface PinnedConnectionsOptions {
  readonly mode: EgressMode;
  /** `host`, `host:port`, or `*` for all hosts on their default port. */
  readonly hosts: readonly string[];
  /** Same for hosts that may have private addresses; `*` has no meaning. */
  readonly privateHosts: readonly string[];
  /** Names of the two settings, for error messages. */
  readonly settingNames: { readonly hosts: string; readonly privateHosts: string };
  /** Maximum number of connections to one host at the same time. */
  readonly perHostMax?: number;
}

interface GetOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

interface SocketOptions {
  readonly host: string;
  readonly port: number;
  /** Ports that `*` allows. */
  readonly defaultPorts: readonly number[];
  readonly isSecure: boolean;
}

interface PostOptions extends GetOptions {
  readonly body: Uint8Array;
}

interface SafeRequestOptions extends PostOptions {
  /** A method that changes nothing, such as PROPFIND. */
  readonly method: string;
}

type PinnedRequest = RequestOptions & { readonly signal: AbortSignal; readonly body?: Uint8Array };

/** The server closed an idle connection before it replied to a request on it. */
class ClosedConnectionError extends AppError {}

const httpPorts = [443, 80];
const connectMsMax = 20_000;
const idleMsMax = 60_000;

type ConnectionArguments = Parameters<HttpsAgent['createConnection']>;

/**
 * Connections to hosts that organizations choose. Each name is resolved once, all of its addresses are checked, and the
 * connection is made to a checked address, so that a later answer of the name server cannot lead to a private one.
 */
export class PinnedConnections {
  readonly #options: PinnedConnectionsOptions;
  readonly #agents: EgressAgents;

  constructor(options: PinnedConnectionsOptions) {
    this.#options = options;
    this.#agents = this.createAgents();
  }

  /** Errors: `bad_request` for an address that is not HTTP, `forbidden` for a host that is not allowed. */
  checkUrl(text: string): URL {
    let url: URL;
    try {
      url = new URL(text);
    } catch (cause) {
      throw new AppError('bad_request', `${JSON.stringify(text)} is not a URL.`, { cause });
    }
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw new AppError('bad_request', `The URL ${text} must start with https:// or http://.`);
    if (url.username !== '' || url.password !== '')
      throw new AppError('bad_request', 'The URL must not contain a user name or a password.');
    this.checkHost(url.hostname, portOf(url));
    return url;
  }

  /** `defaultPorts`: those that `*` allows. Errors: `forbidden` for a host that is not allowed. */
  checkHost(host: string, port: number, defaultPorts: readonly number[] = httpPorts): void {
    const name = normalizeHost(host);
    const { mode, hosts, settingNames } = this.#options;
    if (mode === 'none')
      throw new AppError(
        'forbidden',
        `This server is not allowed to connect to ${name}: QUARRY_EGRESS is "none". Ask its operator.`,
      );
    const isAllowed =
      includesHost(hosts, name, port) ||
      this.allowsPrivate(name, port) ||
      (hosts.includes('*') && defaultPorts.includes(port));
    if (!isAllowed)
      throw new AppError(
        'forbidden',
        `The host ${name}:${port} is not in ${settingNames.hosts}. Ask the operator of this server to allow it.`,
      );
  }

  /** Returns a checked address of a host. Errors: `forbidden`, `bad_gateway`. */
  async resolve(host: string, port: number, defaultPorts?: readonly number[]): Promise<string> {
    const name = normalizeHost(host);
    this.checkHost(name, port, defaultPorts);
    let addresses: readonly string[];
    try {
      addresses =
        isIP(name) === 0 ? (await lookup(name, { all: true })).map(({ address }) => address) : [name];
    } catch (cause) {
      throw new AppError('bad_gateway', `The host ${name} cannot be resolved. Check its name.`, { cause });
    }
    const [address] = addresses;
    if (address === undefined) throw new AppError('bad_gateway', `The host ${name} has no address.`);
    if (!this.allowsPrivate(name, port) && addresses.some(isPrivateAddress))
      throw new AppError(
        'forbidden',
        `The host ${name} has a private address. Ask the operator of this server to add it to ${this.#options.settingNames.privateHosts}.`,
      );
    return address;
  }

  /**
   * Sends a GET request. Redirects are returned as replies. Errors: AppError `forbidden` or `bad_gateway`; the reason
   * of the signal.
   */
  get(url: URL, { headers = {}, signal }: GetOptions): Promise<IncomingMessage> {
    return this.#repeat(url, { method: 'GET', headers, signal });
  }

  /** Same for another method without effects, with a body. */
  requestSafely(url: URL, { headers = {}, ...options }: SafeRequestOptions): Promise<IncomingMessage> {
    const length = String(options.body.byteLength);
    return this.#repeat(url, { ...options, headers: { ...headers, 'content-length': length } });
  }

  /** Same for a POST request. Its connection is not used again: a retry could repeat the request. */
  post(url: URL, { headers = {}, signal, body }: PostOptions): Promise<IncomingMessage> {
    const length = String(body.byteLength);
    const allHeaders = { ...headers, 'content-length': length, connection: 'close' };
    return this.#request(url, { method: 'POST', headers: allHeaders, signal, body });
  }

  /** A server can close an idle connection while a request is sent on it. Each attempt removes such a connection. */
  async #repeat(url: URL, options: PinnedRequest): Promise<IncomingMessage> {
    for (;;) {
      try {
        return await this.#request(url, options);
      } catch (error) {
        if (!(error instanceof ClosedConnectionError)) throw error;
      }
    }
  }

  async #request(url: URL, { body, ...options }: PinnedRequest): Promise<IncomingMessage> {
    const { signal } = options;
    const isSecure = url.protocol === 'https:';
    const agent = isSecure ? this.#agents.httpsAgent : this.#agents.httpAgent;
    let abort = () => {};
    const opening = new Promise<IncomingMessage>((resolve, reject) => {
      const request = (isSecure ? httpsRequest : httpRequest)(url, { ...options, agent }, resolve);
      request.setTimeout(idleMsMax, () => request.destroy(new Error(`no data within ${idleMsMax} ms`)));
      request.on('error', (cause) => {
        if (signal.aborted || cause instanceof AppError) return reject(cause);
        const wasClosed = request.reusedSocket && (cause as NodeJS.ErrnoException).code === 'ECONNRESET';
        const ErrorType = wasClosed ? ClosedConnectionError : AppError;
        reject(
          new ErrorType('bad_gateway', `The connection to ${url.host} failed: ${cause.message}.`, { cause }),
        );
      });
      // Node.js rejects an aborted request only when it has a socket, which a name server can delay.
      abort = () => reject(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      request.end(body);
    });
    return await opening.finally(() => signal.removeEventListener('abort', abort));
  }

  /** Whether a host may have a private address. */
  allowsPrivate(host: string, port: number): boolean {
    return includesHost(this.#options.privateHosts, normalizeHost(host), port);
  }

  /** Closes idle connections. */
  close(): void {
    this.#agents.httpAgent.destroy();
    this.#agents.httpsAgent.destroy();
  }

  /**
   * Opens a connection for a protocol other than HTTP; with TLS, the certificate of the host is checked. Errors:
   * `forbidden`, `bad_gateway`.
   */
  async openSocket({ host, port, defaultPorts, isSecure }: SocketOptions): Promise<Socket> {
    try {
      const socket = await this.#open(host, port, defaultPorts);
      if (!isSecure) return socket;
      const name = normalizeHost(host);
      const secure = connectTls({ socket, host: name, ...(isIP(name) === 0 ? { servername: name } : {}) });
      const timer = setTimeout(() => secure.destroy(new Error('no TLS handshake')), connectMsMax);
      await once(secure, 'secureConnect').finally(() => clearTimeout(timer));
      return secure;
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      const { message } = cause as Error;
      throw new AppError('bad_gateway', `The connection to ${host}:${port} failed: ${message}.`, { cause });
    }
  }

  async #open(host: string, port: number, defaultPorts?: readonly number[]): Promise<Socket> {
    const address = await this.resolve(host, port, defaultPorts);
    return await new Promise((resolve, reject) => {
      const socket = new Socket();
      permitConnection(socket);
      const timer = setTimeout(
        () => socket.destroy(new Error(`no connection within ${connectMsMax} ms`)),
        connectMsMax,
      );
      const settle = (error?: Error) => {
        clearTimeout(timer);
        socket.off('error', settle);
        if (error === undefined) resolve(socket);
        else reject(error);
      };
      socket.once('error', settle).once('connect', () => settle());
      socket.connect({ host: address, port });
    });
  }

  /** Returns agents for a library that opens HTTP connections itself, and closes them. */
  createAgents(): EgressAgents {
    const open = ([options]: ConnectionArguments, defaultTo: number): Promise<Socket> => {
      const { host, port } = options as { host?: string | null; port?: number | string };
      return this.#open(host ?? 'localhost', Number(port ?? defaultTo));
    };
    const finish = (opening: Promise<Socket>, [, done]: ConnectionArguments): undefined => {
      opening.then(
        (socket) => done?.(null, socket),
        (error: unknown) => done?.(error as Error, new Socket()),
      );
    };
    class PinnedHttpAgent extends HttpAgent {
      override createConnection(...connection: ConnectionArguments) {
        return finish(open(connection, 80), connection);
      }
    }
    class PinnedHttpsAgent extends HttpsAgent {
      override createConnection(...connection: ConnectionArguments) {
        const options = connection[0] as ConnectionOptions;
        const secure = open(connection, 443).then((socket) =>
          connectTls({ ...options, socket, servername: options.servername ?? options.host ?? '' }),
        );
        return finish(secure, connection);
      }
    }
    const agentOptions = { keepAlive: true, maxSockets: this.#options.perHostMax ?? 16, timeout: idleMsMax };
    return { httpAgent: new PinnedHttpAgent(agentOptions), httpsAgent: new PinnedHttpsAgent(agentOptions) };
  }
}

export function portOf({ port, protocol }: URL): number {
  return port === '' ? defaultPort(protocol) : Number(port);
}

function includesHost(hosts: readonly string[], host: string, port: number): boolean {
  const bracketed = host.includes(':') ? `[${host}]` : host;
  return hosts.some((entry) => {
    const name = entry.toLowerCase();
    return name === bracketed || name === `${bracketed}:${port}`;
  });
}
