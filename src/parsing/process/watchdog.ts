import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { processLimits } from '../limits.ts';

/** File descriptor of the pipe through which the host sends file bytes. */
export const inputDescriptor = 5;
/** File descriptor of the pipe whose other end the host keeps open for its lifetime. */
export const lifelineDescriptor = 4;

/**
 * Starts the watchdog of a restricted process, which exits with its host. `watchdog` is the module that calls
 * `runWatchdog`; it runs on its own thread, because the main thread may hang in a document, and loads no
 * parser.
 */
export function startWatchdog(watchdog: URL): void {
  new Worker(watchdog, {
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4, stackSizeMb: 1 },
  });
  process.on('disconnect', () => process.exit(0));
}

/**
 * Kills this process when the host is gone (its end of the lifeline closes, even after `kill -9`) or when
 * resident memory exceeds the limit, independent of the main thread.
 */
export function runWatchdog(): void {
  const lifeline = new Socket({ fd: lifelineDescriptor, readable: true, writable: false });
  lifeline.on('error', () => process.kill(process.pid, 'SIGKILL'));
  lifeline.on('close', () => process.kill(process.pid, 'SIGKILL'));
  lifeline.resume();
  setInterval(() => {
    const residentBytes = process.memoryUsage.rss();
    if (residentBytes <= processLimits.residentBytesMax) return;
    writeSync(2, `out of memory: ${residentBytes} bytes resident\n`);
    process.kill(process.pid, 'SIGKILL');
  }, processLimits.watchdogMs);
}
