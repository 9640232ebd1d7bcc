import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasErrorCode } from '../core/error-code.ts';
import type { Random } from '../core/ids.ts';
import type { Blobs } from '../storage/blobs.ts';

export interface DerivedFilesOptions {
  readonly blobs: Pick<Blobs, 'exists'>;
  /** Its contents can be recreated. */
  readonly folder: string;
  /** Maximum total size of all files in bytes. */
  readonly bytesMax: number;
  readonly random: Random;
}

/** Matches names that begin with the hash of the raw file. */
const namePattern = /^([0-9a-f]{64})[.-].*(?:jpg|pdf|xlsx)$/;

/**
 * Disk cache of files derived from raw files, with a size bound and least-recently-used eviction. File names
 * begin with the hash of the raw bytes, so equal documents share the files; these are deleted with the last
 * such document.
 */
export class DerivedFiles {
  readonly #options: DerivedFilesOptions;
  /** Sizes by file name, least recently used first. */
  readonly #sizes = new Map<string, number>();
  #bytes = 0;

  static async open(options: DerivedFilesOptions): Promise<DerivedFiles> {
    const files = new DerivedFiles(options);
    const { folder } = options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const found: { name: string; size: number; usedMs: number }[] = [];
    for (const name of await readdir(folder)) {
      if (namePattern.test(name)) {
        const { size, mtimeMs } = await stat(join(folder, name));
        found.push({ name, size, usedMs: mtimeMs });
      } else await rm(join(folder, name), { recursive: true, force: true });
    }
    for (const { name, size } of found.sort((a, b) => a.usedMs - b.usedMs)) files.#track(name, size);
    await files.removeOrphans();
    await files.#evict();
    return files;
  }

  private constructor(options: DerivedFilesOptions) {
    this.#options = options;
  }

  get folder(): string {
    return this.#options.folder;
  }

  /** Returns the bytes of a file; null when it is not cached. */
  async read(name: string): Promise<Uint8Array | null> {
    const file = this.#touch(name);
    if (file === null) return null;
    try {
      return await readFile(file);
    } catch (error) {
      if (!hasErrorCode(error, 'ENOENT')) throw error;
      this.#untrack(name);
      return null;
    }
  }

  /** Returns the path of a file; null when it is not cached. */
  async find(name: string): Promise<string | null> {
    const file = this.#touch(name);
    if (file === null || (await stat(file).catch(() => null)) !== null) return file;
    this.#untrack(name);
    return null;
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    const temporary = join(this.folder, `${this.#options.random.uuid()}.part`);
    try {
      await writeFile(temporary, bytes, { mode: 0o600 });
      await this.add(name, temporary);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /** Moves a file of the same file system into the cache and returns its new path. */
  async add(name: string, file: string): Promise<string> {
    const path = join(this.folder, name);
    const { size } = await stat(file);
    await rename(file, path);
    this.#track(name, size);
    await this.#evict();
    return path;
  }

  /** Deletes files derived from deleted raw files. */
  async removeOrphans(): Promise<void> {
    for (const name of [...this.#sizes.keys()]) {
      const hash = namePattern.exec(name)?.[1] ?? '';
      if (!(await this.#options.blobs.exists(hash))) await this.#remove(name);
    }
  }

  #touch(name: string): string | null {
    const size = this.#sizes.get(name);
    if (size === undefined) return null;
    this.#track(name, size);
    return join(this.folder, name);
  }

  /** Keeps the newest file even if it exceeds the bound: it is about to be read. */
  async #evict(): Promise<void> {
    for (const oldest of [...this.#sizes.keys()].slice(0, -1)) {
      if (this.#bytes <= this.#options.bytesMax) return;
      await this.#remove(oldest);
    }
  }

  async #remove(name: string): Promise<void> {
    this.#untrack(name);
    await rm(join(this.folder, name), { force: true });
  }

  #track(name: string, size: number): void {
    this.#untrack(name);
    this.#sizes.set(name, size);
    this.#bytes += size;
  }

  #untrack(name: string): void {
    this.#bytes -= this.#sizes.get(name) ?? 0;
    this.#sizes.delete(name);
  }
}
