import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasErrorCode } from '../core/error-code.ts';
import { mapDiskFullError } from './durable-files.ts';
import type { SharedFiles } from './shared-files.ts';

/** A local copy that is not deleted until `release`, which is idempotent. */
export interface FileCopy {
  readonly path: string;
  release(): void;
}

interface FileCacheOptions {
  readonly files: SharedFiles;
  readonly bytesMax: number;
  /** Path of the copy of a file. */
  readonly pathOf: (hash: string) => string;
  /** Returns the path of a new temporary file. */
  readonly createTemporaryPath: () => string;
}

/** Local copies of shared files. Those that were used least recently are deleted above a size. */
export class FileCache {
  readonly #options: FileCacheOptions;
  /** Sizes by hash, least recently used first. */
  readonly #sizes = new Map<string, number>();
  #bytes = 0;
  /** Number of users of each copy. */
  readonly #uses = new Map<string, number>();
  readonly #fetching = new Map<string, Promise<boolean>>();
  readonly #removing = new Map<string, Promise<void>>();

  constructor(options: FileCacheOptions) {
    this.#options = options;
  }

  /** Counts the copy of a file that exists, as the most recently used one. */
  async add(hash: string): Promise<void> {
    const size = await sizeOf(this.#options.pathOf(hash));
    if (size === null) return;
    this.#track(hash, size);
    await this.#evict();
  }

  /** Returns the copy of a file, which is read from the shared files if it is missing; null for an unknown file. */
  async use(hash: string): Promise<FileCopy | null> {
    const path = this.#options.pathOf(hash);
    this.#uses.set(hash, (this.#uses.get(hash) ?? 0) + 1);
    let release: (() => void) | null = () => this.#release(hash);
    const file = {
      path,
      release() {
        release?.();
        release = null;
      },
    };
    try {
      if (!(await this.#ensure(hash, path))) {
        file.release();
        return null;
      }
    } catch (error) {
      file.release();
      throw error;
    }
    return file;
  }

  /** Deletes a copy. A process that has it open can still read it. */
  async remove(hash: string): Promise<void> {
    this.#untrack(hash);
    const removal = rm(this.#options.pathOf(hash), { force: true }).finally(() =>
      this.#removing.delete(hash),
    );
    this.#removing.set(hash, removal);
    await removal;
  }

  async #ensure(hash: string, path: string): Promise<boolean> {
    await this.#removing.get(hash);
    const size = await sizeOf(path);
    if (size !== null) {
      this.#track(hash, size);
      return true;
    }
    const running = this.#fetching.get(hash);
    if (running !== undefined) return running;
    const fetching = this.#fetch(hash, path).finally(() => this.#fetching.delete(hash));
    this.#fetching.set(hash, fetching);
    return fetching;
  }

  async #fetch(hash: string, path: string): Promise<boolean> {
    const parts = await this.#options.files.read(hash);
    if (parts === null) return false;
    const temporary = this.#options.createTemporaryPath();
    try {
      const file = await mapDiskFullError(open(temporary, 'wx', 0o600));
      try {
        for await (const part of parts) await mapDiskFullError(file.appendFile(part));
      } finally {
        await file.close();
      }
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await rename(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    await this.add(hash);
    return true;
  }

  #release(hash: string): void {
    const uses = (this.#uses.get(hash) ?? 0) - 1;
    if (uses > 0) this.#uses.set(hash, uses);
    else this.#uses.delete(hash);
  }

  async #evict(): Promise<void> {
    for (const hash of [...this.#sizes.keys()]) {
      if (this.#bytes <= this.#options.bytesMax) return;
      if (!this.#uses.has(hash)) await this.remove(hash);
    }
  }

  #track(hash: string, size: number): void {
    this.#untrack(hash);
    this.#sizes.set(hash, size);
    this.#bytes += size;
  }

  #untrack(hash: string): void {
    this.#bytes -= this.#sizes.get(hash) ?? 0;
    this.#sizes.delete(hash);
  }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return null;
    throw error;
  }
}
