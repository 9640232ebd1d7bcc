import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { connect, type Socket } from 'node:net';
import { AppError } from '../base/app-error.ts';

export const egressModes = ['configured', 'none'] as const;
export type EgressMode = (typeof egressModes)[number];

/** A place that the server may connect to. */
export interface AllowedHost {
  /** Name or address, in lower case and without brackets. */
  readonly host: string;
  /** Null: any port. */
  readonly port: number | null;
  /** The feature that needs it, for people: "mail", "payments". */
  readonly purpose: string;
}

/** A connection that the settings do not allow. Nothing was sent, and no name was looked up. */
export class EgressRefused extends Error {
  override readonly name = 'EgressRefused';

  constructor(mode: EgressMode, host: string, port: number) {
    const place = `${host}:${port}`;
    super(
      mode === 'none'
        ? `a connection to ${place} was refused: QUARRY_EGRESS is "none" (set it to "configured" to allow the hosts that settings name)`
        : `a connection to ${place} was refused: no setting names that host (add it to QUARRY_EGRESS_HOSTS)`,
    );
  }
}

/** The refusal behind an error that a library has wrapped, or null. */
export function egressRefusalIn(error: unknown): EgressRefused | null {
  const causes: unknown[] = [error];
  for (const cause of causes) {
    if (cause instanceof EgressRefused) return cause;
    if (!(cause instanceof Error) || causes.length > 10) continue;
    // The SDK of Stripe calls it `detail`.
    causes.push(cause.cause, (cause as { detail?: unknown }).detail);
  }
  return null;
}

/** What a caller is told who needed the connection; `to`: "the payment provider". */
export function refusedByEgress(to: string, cause: EgressRefused): AppError {
  return new AppError(
    'unavailable',
    `This server may not connect to ${to}: ${cause.message}. Its operator has to change that.`,
    { cause, shouldRetry: false },
  );
}

export interface EgressOptions {
  readonly mode: EgressMode;
  /** What the settings name; `none` refuses these too. */
  readonly hosts: readonly AllowedHost[];
}

/** Where libraries get their connections from. */
export interface EgressAgents {
  readonly httpAgent: HttpAgent;
  readonly httpsAgent: HttpsAgent;
}

type ConnectionArguments = Parameters<HttpsAgent['createConnection']>;

/**
 * Every connection that the server opens: a host that no setting names is refused before its name is looked up. The list
 * holds for redirections too, which are never followed. `guardSockets` makes it hold for what libraries open by themselves.
 */
export class Egress {
  readonly mode: EgressMode;
  /** What the settings name, whether or not it may be reached. */
  readonly hosts: readonly AllowedHost[];

  constructor({ mode, hosts }: EgressOptions) {
    this.mode = mode;
    this.hosts = hosts;
  }

  allows(host: string, port: number): boolean {
    if (this.mode === 'none') return false;
    const wanted = bareHost(host);
    return this.hosts.some((known) => known.host === wanted && (known.port === null || known.port === port));
  }

  /** Throws `EgressRefused`. */
  check(host: string, port: number): void {
    if (!this.allows(host, port)) throw new EgressRefused(this.mode, bareHost(host), port);
  }

  /** `fetch` to allowed hosts. A redirection is the reply: followed, it could lead anywhere. */
  readonly fetch = async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { hostname, port, protocol } = new URL(input);
    this.check(hostname, port === '' ? defaultPort(protocol) : Number(port));
    return await fetch(input, { ...init, redirect: 'manual' });
  };

  /** For libraries that speak HTTP by themselves. */
  agents(): EgressAgents {
    const check = (options: object) => {
      const { host = 'localhost', port = 0 } = options as { host?: string | null; port?: number | string };
      this.check(host ?? 'localhost', Number(port));
    };
    class CheckedHttpAgent extends HttpAgent {
      override createConnection(...[options, done]: ConnectionArguments) {
        check(options);
        return super.createConnection(options, done);
      }
    }
    class CheckedHttpsAgent extends HttpsAgent {
      override createConnection(...[options, done]: ConnectionArguments) {
        check(options);
        return super.createConnection(options, done);
      }
    }
    const kept = { keepAlive: true };
    return { httpAgent: new CheckedHttpAgent(kept), httpsAgent: new CheckedHttpsAgent(kept) };
  }

  /** A connection for a library that speaks its own protocol; rejects when there is none after `msMax`. */
  openSocket({ host, port, msMax }: { host: string; port: number; msMax: number }): Promise<Socket> {
    return new Promise((resolve, reject) => {
      this.check(host, port);
      const socket = connect({ host: bareHost(host), port });
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

/** Without the brackets of an IPv6 address in a URL. */
export function bareHost(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
}

/** As nodemailer has it. */
export function usualSmtpPort(protocol: string): number {
  return protocol === 'smtps:' ? 465 : 587;
}

export function defaultPort(protocol: string): number {
  return protocol === 'https:' ? 443 : 80;
}
