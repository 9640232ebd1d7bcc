import { AppError } from './app-error.ts';

/** Address of a database, and how to connect to it. */
export interface PostgresAddress {
  /** Name or address, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Null: none, as with a client that the database trusts. */
  readonly password: string | null;
  readonly database: string;
  /** Null: without TLS, only on the loopback interface. Otherwise the certificate and the host name are verified. */
  readonly tls: { readonly rootCertificateFile: string | null } | null;
}

const defaultPort = 5432;
const parameterNames: readonly string[] = ['sslmode', 'sslrootcert'];

/**
 * Parses `postgres://user:password@host:port/database?sslmode=verify-full&sslrootcert=/file`. Other parameters are
 * rejected, because some of them change the host or the verification. Errors: AppError `invalid`, without the URL, which
 * contains a password.
 */
export function parsePostgresUrl(text: string): PostgresAddress {
  const url = parseUrl(text);
  const unknown = [...url.searchParams.keys()].find((name) => !parameterNames.includes(name));
  if (unknown !== undefined)
    throw invalidUrl(`has the parameter ${unknown}; supported are ${parameterNames.join(' and ')}`);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (host === '') throw invalidUrl('has no host');
  if (url.username === '') throw invalidUrl('has no user');
  const user = decode(url.username);
  return {
    host,
    port: url.port === '' ? defaultPort : Number(url.port),
    user,
    password: url.password === '' ? null : decode(url.password),
    database: decode(url.pathname.slice(1)) || user,
    tls: readTls(url.searchParams, host),
  };
}

function parseUrl(text: string): URL {
  if (!/^postgres(ql)?:\/\//.test(text)) throw invalidUrl('does not start with postgres://');
  try {
    return new URL(text);
  } catch {
    throw invalidUrl('is not a URL');
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidUrl('contains a percent sign that does not start an escape sequence');
  }
}

function readTls(parameters: URLSearchParams, host: string): PostgresAddress['tls'] {
  const mode = parameters.get('sslmode');
  const rootCertificateFile = parameters.get('sslrootcert');
  if (mode === 'verify-full') return { rootCertificateFile };
  if (!isLoopback(host))
    throw invalidUrl(
      `connects to ${host} without verified TLS; add sslmode=verify-full, and sslrootcert=/file for a certificate authority of your own`,
    );
  if (mode !== null && mode !== 'disable')
    throw invalidUrl(`has sslmode=${mode}; use verify-full, or disable on the loopback interface`);
  if (rootCertificateFile !== null) throw invalidUrl('has sslrootcert without sslmode=verify-full');
  return null;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

function invalidUrl(problem: string): AppError {
  return new AppError('invalid', `QUARRY_STORE ${problem}.`);
}
