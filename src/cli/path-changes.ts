import { type FSWatcher, watch } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Changes within this time cause one run. */
const settleMs = 500;

/** Reports changes below files and folders of this machine. */
export class PathChanges {
  readonly #watchers: readonly FSWatcher[];
  #hasChanged = false;
  #notify: (() => void) | null = null;

  /** Errors: those of the file system. */
  constructor(paths: readonly string[]) {
    this.#watchers = paths.map((path) => {
      const watcher = watch(path, { recursive: true }, () => this.#onChange());
      // A folder that is deleted while its watcher is added; the next run lists what exists.
      return watcher.on('error', () => this.#onChange());
    });
  }

  /** Ignores the changes until now: the caller reads all files after this. */
  reset(): void {
    this.#hasChanged = false;
  }

  /** Resolves after the next change since `reset`. Rejects with the reason of the signal. */
  async next(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#hasChanged)
      await new Promise<void>((resolve, reject) => {
        const abort = () => reject(signal.reason);
        signal.addEventListener('abort', abort, { once: true });
        this.#notify = () => {
          signal.removeEventListener('abort', abort);
          resolve();
        };
      });
    this.#notify = null;
    await sleep(settleMs, undefined, { signal });
  }

  close(): void {
    for (const watcher of this.#watchers) watcher.close();
  }

  #onChange(): void {
    this.#hasChanged = true;
    this.#notify?.();
  }
}
