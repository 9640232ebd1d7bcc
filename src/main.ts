import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { type App, startApp } from './app/app.ts';
import { StopRequests } from './app/stop-requests.ts';
import type { Settings } from './config/schema.ts';
import { isStartedByNpm } from './config/settings.ts';
import { systemClock } from './core/clock.ts';
import { formatCount } from './core/format.ts';

/** Runs the server until it is asked to stop, then closes it. */
export async function main(settings: Settings): Promise<void> {
  disablePretenuring();
  ignoreClosedOutput();
  const stopRequests = new StopRequests(systemClock, isStartedByNpm());
  const app = await startApp(settings);
  const stopped = stopRequests.wait();
  try {
    await Promise.race([app.loaded.then(() => printStartupMessage(app, settings)), stopped]);
    await stopped;
    process.stdout.write(`${stoppingLine(app.runningRequests, settings)}\n`);
  } finally {
    await app.close();
  }
  process.stdout.write('Stopped\n');
}

/** A server continues, and stops cleanly, when its terminal or the reader of its output is gone. */
function ignoreClosedOutput(): void {
  process.stdout.removeAllListeners('error').on('error', () => undefined);
}

function stoppingLine(runningRequests: number, { drainSeconds }: Settings): string {
  if (runningRequests === 0) return 'Stopping';
  const requests = formatCount(runningRequests, 'running request');
  return `Stopping: waiting for ${requests}, at most ${drainSeconds} s (Ctrl-C again stops at once)`;
}

/**
 * Disables V8's allocation-site pretenuring. If many objects allocated at one site live long, such as those
 * of queries that wait while the caches fill, V8 allocates all later objects of that site directly in the old
 * generation. The data of a query remains short-lived, but data referenced from an old object is retained: it
 * is copied twice and stays until a full garbage collection. Gain at the load of the bench case `server`
 * (`snippets`, 32 connections): 275 -> 254 us of CPU per query on the main thread.
 */
function disablePretenuring(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}

/**
 * Returns the startup lines with the sign-in link and the first key. Both are credentials: they are printed
 * only to a terminal, because elsewhere a log could retain them; otherwise they are written to private files.
 */
function formatCredentials({ newKey, signInUrl }: App, { data }: Settings): string[] {
  if (process.stdout.isTTY) {
    return [
      `Sign in to the dashboard (works once, within 15 minutes): ${signInUrl}`,
      ...(newKey === null ? [] : [`First API key (shown only once): ${newKey}`]),
    ];
  }
  const link = writePrivateFile(join(data, 'sign-in-link.txt'), signInUrl);
  const lines = [`Sign-in link for the dashboard (works once, within 15 minutes), written to: ${link}`];
  if (newKey !== null) {
    lines.push(`First API key, written to: ${writePrivateFile(join(data, 'first-key.txt'), newKey)}`);
  }
  return lines;
}

/** Replaces the file by one that only the server's user can read. */
function writePrivateFile(path: string, text: string): string {
  rmSync(path, { force: true });
  writeFileSync(path, `${text}\n`, { mode: 0o600, flag: 'wx' });
  return path;
}

/** Prints the server address and the commands for a first search. */
function printStartupMessage(app: App, settings: Settings): void {
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  const url = settings.baseUrl ?? `http://${host}:${app.port}`;
  const placeholder = settings.apiKey === null ? 'YOUR_KEY' : '$QUARRY_API_KEY';
  const key = app.newKey !== null && process.stdout.isTTY ? app.newKey : placeholder;
  const lines = [
    `Quarry is ready at ${url} (dashboard: ${url}/app/, documentation: ${url}/docs)`,
    ...formatCredentials(app, settings),
    `First organization: ${app.organizationId}`,
    '',
    'First search, with the command line:',
    `  export QUARRY_URL=${url} QUARRY_API_KEY="${key}"`,
    '  node bin/quarry.js ingest README.md',
    '  node bin/quarry.js search "how do I add documents?"',
    'or with curl:',
    `  curl -s ${url}/v1/queries/top-snippets -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' \\`,
    `    -d '{"collection_name":"default","query":"how do I add documents?","k":3}'`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
