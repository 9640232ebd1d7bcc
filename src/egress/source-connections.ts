import { lookup } from 'node:dns/promises';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { AppError } from '../core/app-error.ts';
import { defaultPort, type EgressAgents, type EgressMode, normalizeHost } from './egress.ts';
import { permitConnection } from './guard-sockets.ts';
import { isPrivateAddress } from './private-addresses.ts';

export interface SourceConnectionsOptions {
  readonly mode: EgressMode;
  /** `host`, `host:port`, or `*` for all hosts on their default port. */
  readonly hosts: readonly string[];
  /** Same for hosts that may have private addresses; `*` has no meaning. */
  readonly privateHosts: readonly string[];
}

export interface SourceGetOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

const connectMsMax = 20_000;
const idleMsMax = 60_000;

type ConnectionArguments = Parameters<HttpsAgent['createConnection']>;

/**
 * Connections to origins that organizations name. Each name is resolved once, all of its addresses are checked, and the
 * connection is made to a checked address, so that a later answer of the name server cannot lead to a private one.
 */
export class SourceConnections {
  readonly #options: SourceConnectionsOptions;
  readonly #agents: EgressAgents;

  constructor(options: SourceConnectionsOptions) {
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
      throw new AppError('bad_request', 'A URL must not contain a user or a password. Use credentials.');
    this.#checkHost(url.hostname, portOf(url));
    return url;
  }

  /** Returns a checked address of a host. Errors: `forbidden`, `bad_gateway`. */
  async resolve(host: string, port: number): Promise<string> {
    const name = normalizeHost(host);
    this.#checkHost(name, port);
    let addresses: readonly string[];
    try {
      addresses =
        isIP(name) === 0 ? (await lookup(name, { all: true })).map(({ address }) => address) : [name];
    } catch (cause) {
      throw new AppError('bad_gateway', `The host ${name} cannot be resolved.`, { cause });
    }
    const [address] = addresses;
    if (address === undefined) throw new AppError('bad_gateway', `The host ${name} has no address.`);
    if (!includesHost(this.#options.privateHosts, name, port) && addresses.some(isPrivateAddress))
      throw new AppError(
        'forbidden',
        `The host ${name} has a private address. Ask the operator of this server to add it to QUARRY_SOURCE_PRIVATE_HOSTS.`,
      );
    return address;
  }

  /**
   * Sends a GET request. Redirects are returned as replies. Errors: AppError `forbidden` or `bad_gateway`; the reason
   * of the signal.
   */
  async get(url: URL, { headers = {}, signal }: SourceGetOptions): Promise<IncomingMessage> {
    const isSecure = url.protocol === 'https:';
    const options = { headers, signal, agent: isSecure ? this.#agents.httpsAgent : this.#agents.httpAgent };
    return await new Promise((resolve, reject) => {
      const request = (isSecure ? httpsRequest : httpRequest)(url, options, resolve);
      request.setTimeout(idleMsMax, () => request.destroy(new Error(`no data within ${idleMsMax} ms`)));
      request.on('error', (cause) => {
        if (signal.aborted || cause instanceof AppError) return reject(cause);
        reject(new AppError('bad_gateway', `The host ${url.host} failed: ${cause.message}.`, { cause }));
      });
      request.end();
    });
  }

  /** Closes idle connections. */
  close(): void {
    this.#agents.httpAgent.destroy();
    this.#agents.httpsAgent.destroy();
  }

  #checkHost(host: string, port: number): void {
    const name = normalizeHost(host);
    const { mode, hosts, privateHosts } = this.#options;
    if (mode === 'none')
      throw new AppError('forbidden', `A connection to ${name} is not allowed: QUARRY_EGRESS is "none".`);
    const isAllowed =
      includesHost(hosts, name, port) ||
      includesHost(privateHosts, name, port) ||
      (hosts.includes('*') && (port === 443 || port === 80));
    if (!isAllowed)
      throw new AppError(
        'forbidden',
        `The host ${name}:${port} is not in QUARRY_SOURCE_HOSTS. Ask the operator of this server to allow it.`,
      );
  }

  async #open(host: string, port: number): Promise<Socket> {
    const address = await this.resolve(host, port);
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
    const agentOptions = { keepAlive: true, maxSockets: 16, timeout: idleMsMax };
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
