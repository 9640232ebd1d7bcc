import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { replacementEnvironment } from '../config/settings.ts';
import { findListeningDescriptor } from '../http/listening-socket.ts';
import { StoreLockedError } from '../storage/rocksdb.ts';

/**
 * Replacement of this process by a new one (SIGUSR2). The new process gets the listening socket, so that connections
 * wait in its queue while no process accepts them:
 *
 *     predecessor                        replacement
 *     starts it with the socket     ->
 *                                   <-   is prepared: all checks before the data directory is opened have passed
 *     finishes requests, closes the
 *     data directory, disconnects   ->   opens the data directory and accepts connections
 */
export class ReplacementProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Resolves when the new process is prepared. Errors: Error if it ends before. `signal` ends it. */
  static async start(port: number, signal: AbortSignal): Promise<ReplacementProcess> {
    const descriptor = await findListeningDescriptor(port);
    const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
      env: replacementEnvironment(),
      stdio: ['ignore', 'inherit', 'inherit', descriptor, 'ipc'],
      // Ctrl-C in the terminal of this process is not meant for the new one.
      detached: true,
      signal,
    });
    await new Promise<void>((resolve, reject) => {
      child.once('message', () => resolve());
      child.once('error', reject);
      child.once('exit', (code, by) => reject(new Error(`the new process ended with ${code ?? by}`)));
    });
    return new ReplacementProcess(child);
  }

  /** Called when the data directory is closed. */
  release(): void {
    if (this.#child.connected) this.#child.disconnect();
    this.#child.unref();
  }
}

/**
 * Opens the data directory in a process that replaces another one. The first attempt makes all checks that need no lock;
 * if it fails because of the lock, the predecessor is told that it may stop.
 */
export async function openAfterPredecessor<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (!isLocked(error) || process.send === undefined || !process.connected) throw error;
  }
  // The predecessor disconnects when it has closed the directory; otherwise its end does.
  const disconnected = once(process, 'disconnect');
  process.send('prepared');
  await disconnected;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await open();
    } catch (error) {
      if (!isLocked(error) || attempt === attemptsMax) throw error;
    }
    // The system closes the files of a process that was killed in no particular order.
    await new Promise((resolve) => setTimeout(resolve, attemptIntervalMs));
  }
}

const attemptsMax = 100;
const attemptIntervalMs = 50;

function isLocked(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof StoreLockedError;
}
