import { createReadStream, type Dirent, type Stats } from 'node:fs';
import { link, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { hasErrorCode } from '../core/error-code.ts';
import type { Random } from '../core/ids.ts';
import { isDiskFull, syncFolder, writeFileSynced } from '../storage/durable-files.ts';
import { type BackupTarget, piecesOf, type TargetEntry } from './target.ts';

const incoming = 'incoming';

/**
 * Backup target in a folder of a file system. Only the owner can read it. A file is written to `incoming`,
 * fsynced and renamed.
 */
export class DirectoryTarget implements BackupTarget {
  readonly location: string;
  readonly #random: Random;
  /** Folders with names that are not durable yet. */
  readonly #unsynced = new Set<string>();
  readonly #known = new Set<string>();
  /** Settles with the last flush; never rejects. */
  #flushed: Promise<unknown> = Promise.resolve();

  constructor(path: string, random: Random) {
    this.location = path;
    this.#random = random;
  }

  async has(name: string): Promise<boolean> {
    return (await this.#stat(name)) !== null;
  }

  async write(name: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
    const temporary = join(this.location, incoming, this.#random.uuid());
    await this.#createFolder(dirname(temporary));
    try {
      await writeFileSynced(temporary, parts);
      const path = this.#path(name);
      await this.#createFolder(dirname(path));
      await rename(temporary, path);
      this.#unsynced.add(dirname(path));
    } catch (error) {
      await rm(temporary, { force: true });
      throw isDiskFull(error) ? targetFull(this.location, error) : error;
    }
  }

  /** Waits for a flush that is running, which may be syncing the folders of the caller. */
  flush(): Promise<void> {
    const flushing = this.#flushed.then(() => this.#syncFolders());
    this.#flushed = flushing.catch(() => {});
    return flushing;
  }

  async #syncFolders(): Promise<void> {
    const folders = [...this.#unsynced];
    this.#unsynced.clear();
    try {
      for (const folder of folders) await syncFolder(folder);
    } catch (error) {
      for (const folder of folders) this.#unsynced.add(folder);
      throw error;
    }
  }

  async *read(name: string): AsyncGenerator<Uint8Array, void, void> {
    try {
      for await (const part of createReadStream(this.#path(name), { highWaterMark: 1_048_576 }))
        yield part as Uint8Array;
    } catch (error) {
      if (!hasErrorCode(error, 'ENOENT')) throw error;
      throw new AppError('not_found', `The file ${name} is missing in the backup target ${this.location}.`, {
        cause: error,
      });
    }
  }

  async *list(folder: string): AsyncGenerator<TargetEntry, void, void> {
    let entries: Dirent[];
    try {
      entries = await readdir(this.#path(folder), { withFileTypes: true });
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT')) return;
      throw error;
    }
    for (const entry of entries) {
      const name = `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        yield* this.list(name);
        continue;
      }
      const found = await this.#stat(name);
      // Another process may have pruned the file since the folder was read.
      if (found !== null) yield { name, bytes: found.size, modifiedAt: found.mtimeMs };
    }
  }

  async remove(name: string): Promise<void> {
    const path = this.#path(name);
    await rm(path, { force: true });
    this.#unsynced.add(dirname(path));
  }

  async create(name: string, text: string): Promise<boolean> {
    const path = this.#path(name);
    await this.#createFolder(dirname(path));
    // Linked when it is complete: a process that is killed leaves no empty file.
    const temporary = `${path}.${this.#random.uuid()}`;
    try {
      await writeFileSynced(temporary, piecesOf(Buffer.from(text)));
      await link(temporary, path);
      return true;
    } catch (error) {
      if (hasErrorCode(error, 'EEXIST')) return false;
      throw error;
    } finally {
      await rm(temporary, { force: true });
    }
  }

  async removeUnfinished(): Promise<void> {
    await rm(join(this.location, incoming), { recursive: true, force: true });
    this.#known.clear();
  }

  #path(name: string): string {
    return join(this.location, ...name.split('/'));
  }

  async #stat(name: string): Promise<Stats | null> {
    try {
      return await stat(this.#path(name));
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT')) return null;
      throw error;
    }
  }

  async #createFolder(path: string): Promise<void> {
    if (this.#known.has(path)) return;
    const first = await mkdir(path, { recursive: true, mode: 0o700 });
    // The names of new folders must become durable, too.
    if (first !== undefined)
      for (let folder = path; folder.length >= first.length; folder = dirname(folder))
        this.#unsynced.add(dirname(folder));
    this.#known.add(path);
  }
}

function targetFull(location: string, cause: unknown): AppError {
  return new AppError(
    'reserve_reached',
    `The disk of the backup target ${location} is full. Earlier backups are intact. Free space or prune backups.`,
    { cause },
  );
}
