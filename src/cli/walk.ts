import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { AppError } from '../base/app-error.ts';

/** A file to ingest. */
export interface LocalFile {
  readonly absolute: string;
  /** Path of the document: relative to the folder that was named, with slashes. */
  readonly path: string;
  readonly sizeBytes: number;
}

export interface WalkResult {
  /** In ascending order of their absolute paths, folder by folder. */
  readonly files: LocalFile[];
  /** What could not be read, with the reason. */
  readonly unreadable: { readonly path: string; readonly reason: string }[];
}

export interface WalkOptions {
  /** Files and folders to take, absolute or relative to the working folder. */
  readonly starts: readonly string[];
  /** Also take what starts with a dot. */
  readonly hidden: boolean;
  /** Put in front of every document path. */
  readonly prefix: string;
}

/**
 * All regular files below `starts`. Links are followed, and a folder is entered once, however many links lead to it.
 * Throws an AppError `bad_request` for a start that does not exist and for two files that would be one document.
 */
export async function findFiles(options: WalkOptions): Promise<WalkResult> {
  const walk = new Walk(options.hidden);
  for (const start of options.starts) {
    const absolute = resolve(start);
    const facts = await stat(absolute).catch((cause: unknown) => {
      throw new AppError('bad_request', `${start} cannot be read: ${(cause as Error).message}.`, { cause });
    });
    if (facts.isDirectory()) await walk.enter(absolute, options.prefix, facts);
    else walk.take(absolute, `${options.prefix}${basename(absolute)}`, facts);
  }
  refuseDoubles(walk.files);
  return { files: walk.files, unreadable: walk.unreadable };
}

class Walk {
  readonly files: LocalFile[] = [];
  readonly unreadable: { path: string; reason: string }[] = [];
  readonly #hidden: boolean;
  readonly #entered = new Set<string>();
  readonly #taken = new Set<string>();

  constructor(hidden: boolean) {
    this.#hidden = hidden;
  }

  async enter(folder: string, prefix: string, facts: Stats): Promise<void> {
    const identity = `${facts.dev}:${facts.ino}`;
    if (this.#entered.has(identity)) return;
    this.#entered.add(identity);
    const names = await this.#readable(prefix, () => readdir(folder));
    for (const name of (names ?? []).sort()) {
      if (name.startsWith('.') && !this.#hidden) continue;
      const absolute = join(folder, name);
      const path = `${prefix}${name}`;
      const inside = await this.#readable(path, () => stat(absolute));
      if (inside === null) continue;
      if (inside.isDirectory()) await this.enter(absolute, `${path}/`, inside);
      else this.take(absolute, path, inside);
    }
  }

  /** Sockets, pipes and devices have no content to index and are passed over. */
  take(absolute: string, path: string, facts: Stats): void {
    if (!facts.isFile() || this.#taken.has(absolute)) return;
    this.#taken.add(absolute);
    this.files.push({ absolute, path, sizeBytes: facts.size });
  }

  async #readable<T>(path: string, read: () => Promise<T>): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      this.unreadable.push({ path, reason: (error as Error).message });
      return null;
    }
  }
}

function refuseDoubles(files: readonly LocalFile[]): void {
  const seen = new Map<string, string>();
  for (const file of files) {
    const other = seen.get(file.path);
    if (other !== undefined) {
      throw new AppError(
        'bad_request',
        `${other} and ${file.absolute} would both become the document ${file.path}; ingest them in two runs with different --prefix values.`,
      );
    }
    seen.set(file.path, file.absolute);
  }
}
