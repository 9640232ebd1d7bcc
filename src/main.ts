import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { type App, startApp } from './app/app.ts';
import type { ReplacementProcess } from './app/replacement-process.ts';
import { apiVersion } from './app/request-handler.ts';
import { RestartRequests } from './app/restart-requests.ts';
import { createServiceNotifier, type ServiceNotifier } from './app/service-notifier.ts';
import { formatStartScreen } from './app/start-screen.ts';
import { StopRequests } from './app/stop-requests.ts';
import { describeProgram } from './config/program-command.ts';
import type { Settings } from './config/schema.ts';
import {
  isStartedByNpm,
  type LoadedSettings,
  readInheritedSocket,
  readProgramStart,
} from './config/settings.ts';
import { systemClock } from './core/clock.ts';
import { formatCount } from './core/format.ts';
import { projectRoot } from './core/root.ts';

/** Runs the server until it is asked to stop, then closes it. */
export async function main(loaded: LoadedSettings): Promise<void> {
  ignoreClosedOutput();
  const stopRequests = new StopRequests(systemClock, isStartedByNpm());
  const restartRequests = new RestartRequests();
  const notifier = createServiceNotifier();
  try {
    await serve(loaded, { stopRequests, restartRequests, notifier });
  } finally {
    notifier?.close();
  }
  process.stdout.write('Stopped\n');
}

interface ProcessEvents {
  readonly stopRequests: StopRequests;
  readonly restartRequests: RestartRequests;
  readonly notifier: ServiceNotifier | null;
}

async function serve(
  loaded: LoadedSettings,
  { stopRequests, restartRequests, notifier }: ProcessEvents,
): Promise<void> {
  const { settings } = loaded;
  const app = await startApp(loaded, readInheritedSocket());
  const ending = new AbortController();
  const stopped = stopRequests.wait().then(() => null);
  const replaced = restartRequests.wait({
    port: app.port,
    isManaged: notifier !== null,
    signal: ending.signal,
    warn: (message) => process.stderr.write(`${message}\n`),
  });
  let replacement: ReplacementProcess | null = null;
  try {
    const ready = app.loaded.then(() => {
      configureGarbageCollection();
      printStartupMessage(app, settings);
      notifier?.ready();
    });
    await Promise.race([ready, stopped, replaced]);
    replacement = await Promise.race([stopped, replaced]);
    if (replacement === null) ending.abort();
    else app.shareSocket();
    notifier?.stopping();
    process.stdout.write(`${stoppingLine(app.countRunningRequests(), settings)}\n`);
  } finally {
    await app.close();
    replacement?.release();
  }
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
 *
 * A full garbage collection comes when the old generation has grown by half since the previous one. By default V8
 * lets it grow to 3 times its size: in an overload to 110 MB, although 35 MB are in use, so that the process takes
 * 1.3 times the memory that it needs at its sustainable rate (`npm run campaign -- --only overload`).
 *
 * Called after the start, because modules of Node.js that load afterwards are compiled again (`cli/main.ts`).
 */
function configureGarbageCollection(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--heap-growing-percent=50');
}

/**
 * Prints the address and the credentials of a server that is ready. The sign-in link and a new key are
 * printed only to a terminal, because elsewhere a log could retain them; otherwise they are written to
 * private files.
 */
function printStartupMessage(app: App, settings: Settings): void {
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  const protocol = settings.tlsCertificateFile === null ? 'http' : 'https';
  const url = settings.baseUrl ?? `${protocol}://${host}:${app.port}`;
  const lines = process.stdout.isTTY ? screenLines(app, settings, url) : logLines(app, settings, url);
  process.stdout.write(`${lines.join('\n')}\n`);
}

function screenLines(app: App, settings: Settings, url: string): string[] {
  const { signInUrl, newKey, organizationId } = app;
  const { data } = settings;
  const knownKey = settings.apiKey === null ? 'earlier' : 'setting';
  const apiKey = newKey === null ? knownKey : { created: newKey };
  return formatStartScreen({
    version: apiVersion,
    url,
    signInUrl,
    apiKey,
    organizationId,
    data,
    collections: app.countCollections(),
    program: describeProgram(readProgramStart(), projectRoot),
  });
}

function logLines(app: App, { data }: Settings, url: string): string[] {
  const { newKey, signInUrl } = app;
  const link = writePrivateFile(join(data, 'sign-in-link.txt'), signInUrl);
  const lines = [
    `Quarry is ready at ${url} (dashboard: ${url}/app/, documentation: ${url}/docs)`,
    `Sign-in link for the dashboard (works once, within 15 minutes), written to: ${link}`,
  ];
  if (newKey !== null) {
    lines.push(`First API key, written to: ${writePrivateFile(join(data, 'first-key.txt'), newKey)}`);
  }
  return [...lines, `First organization: ${app.organizationId}`];
}

/** Replaces the file by one that only the server's user can read. */
function writePrivateFile(path: string, text: string): string {
  rmSync(path, { force: true });
  writeFileSync(path, `${text}\n`, { mode: 0o600, flag: 'wx' });
  return path;
}
