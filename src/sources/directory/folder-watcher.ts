import { type FSWatcher, watch } from 'node:fs';
import { AppError } from '../../core/app-error.ts';
import { formatCount } from '../../core/format.ts';
import { sourceLimits } from '../../core/source-limits.ts';
import type { SourceWatcher } from '../source.ts';
import { type FolderWalkOptions, walkFolders } from './walk-folders.ts';

export interface FolderWatcherOptions extends Omit<FolderWalkOptions, 'signal'> {
  readonly onChange: () => void;
}

/**
 * Watches all folders below a root, with one watcher per folder: the recursive watcher of Node.js reads the whole tree
 * in one turn of the event loop. Changes that it misses are found by the next scheduled run.
 */
export class FolderWatcher implements SourceWatcher {
  readonly #options: FolderWatcherOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | null = null;

  private constructor(options: FolderWatcherOptions) {
    this.#options = options;
  }

  /** Errors: `bad_request` for too many folders; errors of the file system. */
  static async open(options: FolderWatcherOptions): Promise<FolderWatcher> {
    const watcher = new FolderWatcher(options);
    try {
      await watcher.#addFolders();
      return watcher;
    } catch (error) {
      watcher.close();
      throw error;
    }
  }

  close(): void {
    this.#closing.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  async #addFolders(): Promise<void> {
    const { signal } = this.#closing;
    for await (const entry of walkFolders({ ...this.#options, signal }))
      if (entry.type === 'folder' && !this.#watchers.has(entry.path)) this.#addFolder(entry.path);
  }

  #addFolder(path: string): void {
    if (this.#watchers.size >= sourceLimits.watchedFoldersMax)
      throw new AppError(
        'bad_request',
        `The folder has more than ${formatCount(sourceLimits.watchedFoldersMax, 'folder')} and cannot be watched. Use a schedule.`,
      );
    const watcher = watch(path, { persistent: false }, () => this.#onEvent());
    // The folder was deleted; its parent reports this, too.
    watcher.on('error', () => this.#removeFolder(path));
    this.#watchers.set(path, watcher);
  }

  #removeFolder(path: string): void {
    this.#watchers.get(path)?.close();
    this.#watchers.delete(path);
    this.#onEvent();
  }

  #onEvent(): void {
    if (this.#timer !== null || this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      // New folders are watched before the run lists them, so that no change in between is missed.
      void this.#refresh();
    }, sourceLimits.watchMs);
  }

  async #refresh(): Promise<void> {
    // A folder that was replaced by another of the same name has another inode.
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    try {
      await this.#addFolders();
    } catch {
      // The run that follows reports the error.
    }
    if (!this.#closing.signal.aborted) this.#options.onChange();
  }
}
