import { readFileSync } from 'node:fs';
import pg from 'pg';
import { AppError } from '../core/app-error.ts';
import { postgresLimits } from '../core/postgres-limits.ts';
import { parsePostgresUrl } from '../core/postgres-url.ts';

/**
 * Connects to a database and passes the client on; `use` ends it, or the returned object does. Errors: `AppError` of
 * `use`, `invalid` for an address, otherwise unavailable.
 */
export async function connectPostgres<Result>(
  url: string,
  use: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client(clientConfig(url));
  // Without a listener, an error between two queries would end the process; the next query fails.
  client.on('error', () => {});
  try {
    await client.connect();
    return await use(client);
  } catch (cause) {
    await client.end();
    throw cause instanceof AppError ? cause : postgresError('cannot be used', cause);
  }
}

/** The fields are given, so that no variable of the environment, such as PGHOST or PGSSLMODE, changes them. */
function clientConfig(url: string): pg.ClientConfig {
  const { host, port, user, password, database, tls } = parsePostgresUrl(url);
  return {
    host,
    port,
    user,
    database,
    ...(password === null ? {} : { password }),
    ssl: tls === null ? false : { rejectUnauthorized: true, ...readRootCertificate(tls) },
    application_name: 'quarry',
    keepAlive: true,
    connectionTimeoutMillis: postgresLimits.connectMs,
    query_timeout: postgresLimits.replyMs,
  };
}

function readRootCertificate({ rootCertificateFile: file }: { rootCertificateFile: string | null }): {
  ca?: string;
} {
  if (file === null) return {};
  try {
    return { ca: readFileSync(file, 'utf8') };
  } catch (cause) {
    throw new AppError(
      'invalid',
      `The file of sslrootcert in QUARRY_STORE cannot be read: ${(cause as Error).message}.`,
      { cause },
    );
  }
}

export function postgresError(problem: string, cause: unknown): AppError {
  return new AppError(
    'unavailable',
    `PostgreSQL ${problem}. Nothing was changed; reads still work. Try again shortly.`,
    { retryAfterMs: 1_000, privateDetails: { postgres: String(cause) }, cause },
  );
}
