import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '../core/ids.ts';
import type { Blobs } from '../storage/blobs.ts';

export interface DerivedFilesOptions {
  readonly blobs: Pick<Blobs, 'size'>;
  /** What is in it can be made again. */
  readonly folder: string;
  /** Bytes that all files together may take. */
  readonly bytesMax: number;
  readonly random: Random;
}

/** The hash of the raw file that a name begins with. */
const namePattern = /^([0-9a-f]{64})[.-].*(?:jpg|pdf|xlsx)$/;

/**
 * What was made of raw files, kept on disk up to a bound; what was used longest ago goes first. Files are named after the
 * hash of the raw bytes, so equal documents share them, and they go with the last of those.
 */
export class DerivedFiles {
  readonly #options: DerivedFilesOptions;
  /** Sizes by file name, in the order of use. */
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

  /** Bytes of a file; null when it is not kept. */
  async read(name: string): Promise<Uint8Array | null> {
    const file = this.#touch(name);
    if (file === null) return null;
    try {
      return await readFile(file);
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ENOENT') throw error;
      this.#untrack(name);
      return null;
    }
  }

  /** Where a file is; null when it is not kept. */
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

  /** Takes over a file of the same file system and answers where it is now. */
  async add(name: string, file: string): Promise<string> {
    const path = join(this.folder, name);
    const { size } = await stat(file);
    await rename(file, path);
    this.#track(name, size);
    await this.#evict();
    return path;
  }

  /** Deletes what was made of raw files that are gone. */
  async removeOrphans(): Promise<void> {
    for (const name of [...this.#sizes.keys()]) {
      const hash = namePattern.exec(name)?.[1] ?? '';
      if ((await this.#options.blobs.size(hash)) === null) await this.#remove(name);
    }
  }

  #touch(name: string): string | null {
    const size = this.#sizes.get(name);
    if (size === undefined) return null;
    this.#track(name, size);
    return join(this.folder, name);
  }

  /** The youngest file stays even when it is larger than all room: somebody is about to read it. */
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
