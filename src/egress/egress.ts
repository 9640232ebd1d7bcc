import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { connect, Socket } from 'node:net';
import { AppError } from '../core/app-error.ts';

export const egressModes = ['configured', 'none'] as const;
export type EgressMode = (typeof egressModes)[number];

/** Host that the server may connect to. */
export interface AllowedHost {
  /** Name or address, in lower case and without brackets. */
  readonly host: string;
  /** Null: any port. */
  readonly port: number | null;
  /** Feature that needs the host, in plain words: "mail", "payments". */
  readonly purpose: string;
}

/** A connection that the settings do not allow. Nothing was sent, and the name was not resolved. */
export class EgressDeniedError extends Error {
  override readonly name = 'EgressDeniedError';

  constructor(mode: EgressMode, host: string, port: number) {
    const hostAndPort = `${host}:${port}`;
    super(
      mode === 'none'
        ? `a connection to ${hostAndPort} was blocked: QUARRY_EGRESS is "none" (set it to "configured" to allow the hosts in the settings)`
        : `a connection to ${hostAndPort} was blocked: the host is not in the settings (add it to QUARRY_EGRESS_HOSTS)`,
    );
  }
}

/** Returns the egress error behind an error that a library has wrapped, or null. */
export function findEgressDenial(error: unknown): EgressDeniedError | null {
  const causes: unknown[] = [error];
  for (const cause of causes) {
    if (cause instanceof EgressDeniedError) return cause;
    if (!(cause instanceof Error) || causes.length > 10) continue;
    // The Stripe SDK stores the cause in `detail`.
    causes.push(cause.cause, (cause as { detail?: unknown }).detail);
  }
  return null;
}

/**
 * Returns the error for the caller whose request needed the connection; `to`: such as "the payment provider".
 */
export function egressDeniedError(to: string, cause: EgressDeniedError): AppError {
  return new AppError(
    'unavailable',
    `This server cannot connect to ${to}: ${cause.message}. Ask the operator of this server.`,
    { cause, shouldRetry: false },
  );
}

export interface EgressOptions {
  readonly mode: EgressMode;
  /** Hosts in the settings; mode `none` rejects these too. */
  readonly hosts: readonly AllowedHost[];
}

/** Agents for libraries that open HTTP connections themselves. */
export interface EgressAgents {
  readonly httpAgent: HttpAgent;
  readonly httpsAgent: HttpsAgent;
}

type ConnectionArguments = Parameters<HttpsAgent['createConnection']>;

/**
 * Policy for every connection that the server opens: a host that is not in the settings is rejected before its
 * name is resolved. It covers redirects too, which are never followed. `guardSockets` extends it to
 * connections that libraries open themselves.
 */
export class Egress {
  readonly mode: EgressMode;
  /** Hosts in the settings, whether or not the mode allows them. */
  readonly hosts: readonly AllowedHost[];

  constructor({ mode, hosts }: EgressOptions) {
    this.mode = mode;
    this.hosts = hosts;
  }

  allows(host: string, port: number): boolean {
    if (this.mode === 'none') return false;
    const normalizedHost = normalizeHost(host);
    return this.hosts.some(
      (allowed) => allowed.host === normalizedHost && (allowed.port === null || allowed.port === port),
    );
  }

  /** Errors: EgressDeniedError. */
  check(host: string, port: number): void {
    const denial = this.#denialOf(host, port);
    if (denial !== null) throw denial;
  }

  #denialOf(host: string, port: number): EgressDeniedError | null {
    return this.allows(host, port) ? null : new EgressDeniedError(this.mode, normalizeHost(host), port);
  }

  /**
   * Fetches from allowed hosts. A redirect is returned as the reply, because its target could be any host.
   */
  readonly fetch = async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { hostname, port, protocol } = new URL(input);
    this.check(hostname, port === '' ? defaultPort(protocol) : Number(port));
    return await fetch(input, { ...init, redirect: 'manual' });
  };

  /** Returns agents for libraries with their own HTTP client. */
  agents(): EgressAgents {
    // A denial is the error of a connection that fails, not one of the call: the AWS SDK keeps a timer of 20 s after an
    // agent that throws, and the server could not stop before it ended.
    const failIfDenied = ([options, done]: ConnectionArguments): boolean => {
      const { host, port } = options as { host?: string | null; port?: number | string };
      const denial = this.#denialOf(host ?? 'localhost', Number(port ?? 0));
      if (denial !== null) process.nextTick(() => done?.(denial, new Socket()));
      return denial !== null;
    };
    class CheckedHttpAgent extends HttpAgent {
      override createConnection(...connection: ConnectionArguments) {
        return failIfDenied(connection) ? null : super.createConnection(...connection);
      }
    }
    class CheckedHttpsAgent extends HttpsAgent {
      override createConnection(...connection: ConnectionArguments) {
        return failIfDenied(connection) ? null : super.createConnection(...connection);
      }
    }
    const agentOptions = { keepAlive: true };
    return { httpAgent: new CheckedHttpAgent(agentOptions), httpsAgent: new CheckedHttpsAgent(agentOptions) };
  }

  /**
   * Opens a connection for a library with its own protocol; rejects if it is not established within `msMax`.
   */
  openSocket({ host, port, msMax }: { host: string; port: number; msMax: number }): Promise<Socket> {
    return new Promise((resolve, reject) => {
      this.check(host, port);
      const socket = connect({ host: normalizeHost(host), port });
      const timer = setTimeout(() => socket.destroy(new Error(`no connection within ${msMax} ms`)), msMax);
      const settle = (error?: Error) => {
        clearTimeout(timer);
        socket.off('error', settle);
        if (error === undefined) resolve(socket);
        else reject(error);
      };
      socket.once('error', settle).once('connect', () => settle());
    });
  }
}

/** Lower-cases a host and removes the brackets of an IPv6 address. */
export function normalizeHost(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
}

/** Same default as nodemailer. */
export function defaultSmtpPort(protocol: string): number {
  return protocol === 'smtps:' ? 465 : 587;
}

export function defaultPort(protocol: string): number {
  return protocol === 'https:' ? 443 : 80;
}
