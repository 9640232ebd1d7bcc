import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { AppError } from '../core/app-error.ts';

/** A file to ingest. */
export interface LocalFile {
  readonly absolute: string;
  /** Path of the document: relative to the given folder, with slashes. */
  readonly path: string;
  readonly sizeBytes: number;
}

export interface WalkResult {
  /** In ascending order of their absolute paths, folder by folder. */
  readonly files: LocalFile[];
  /** Unreadable entries, with the reason. */
  readonly unreadable: { readonly path: string; readonly reason: string }[];
}

export interface WalkOptions {
  /** Files and folders to ingest, absolute or relative to the working folder. */
  readonly paths: readonly string[];
  /** Includes names that start with a dot. */
  readonly hidden: boolean;
  /** Prefix of every document path. */
  readonly prefix: string;
}

/**
 * Returns all regular files below `paths`. Follows links; enters each folder once, even if several links lead
 * to it. Errors: AppError `bad_request` for a path that does not exist, and for two files with the same
 * document path.
 */
export async function findFiles(options: WalkOptions): Promise<WalkResult> {
  const walk = new Walk(options.hidden);
  for (const path of options.paths) {
    const absolute = resolve(path);
    const stats = await stat(absolute).catch((cause: unknown) => {
      throw new AppError('bad_request', `${path} cannot be read: ${(cause as Error).message}.`, { cause });
    });
    if (stats.isDirectory()) await walk.walkFolder(absolute, options.prefix, stats);
    else walk.addFile(absolute, `${options.prefix}${basename(absolute)}`, stats);
  }
  rejectDuplicatePaths(walk.files);
  return { files: walk.files, unreadable: walk.unreadable };
}

class Walk {
  readonly files: LocalFile[] = [];
  readonly unreadable: { path: string; reason: string }[] = [];
  readonly #hidden: boolean;
  readonly #visitedFolders = new Set<string>();
  readonly #addedFiles = new Set<string>();

  constructor(hidden: boolean) {
    this.#hidden = hidden;
  }

  async walkFolder(folder: string, prefix: string, stats: Stats): Promise<void> {
    const identity = `${stats.dev}:${stats.ino}`;
    if (this.#visitedFolders.has(identity)) return;
    this.#visitedFolders.add(identity);
    const names = await this.#readOrRecord(prefix, () => readdir(folder));
    for (const name of (names ?? []).sort()) {
      if (name.startsWith('.') && !this.#hidden) continue;
      const absolute = join(folder, name);
      const path = `${prefix}${name}`;
      const entryStats = await this.#readOrRecord(path, () => stat(absolute));
      if (entryStats === null) continue;
      if (entryStats.isDirectory()) await this.walkFolder(absolute, `${path}/`, entryStats);
      else this.addFile(absolute, path, entryStats);
    }
  }

  /** Adds a regular file once. Skips sockets, pipes and devices, because they have no content to index. */
  addFile(absolute: string, path: string, stats: Stats): void {
    if (!stats.isFile() || this.#addedFiles.has(absolute)) return;
    this.#addedFiles.add(absolute);
    this.files.push({ absolute, path, sizeBytes: stats.size });
  }

  async #readOrRecord<T>(path: string, read: () => Promise<T>): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      this.unreadable.push({ path, reason: (error as Error).message });
      return null;
    }
  }
}

function rejectDuplicatePaths(files: readonly LocalFile[]): void {
  const firstByPath = new Map<string, string>();
  for (const file of files) {
    const other = firstByPath.get(file.path);
    if (other !== undefined) {
      throw new AppError(
        'bad_request',
        `${other} and ${file.absolute} have the same document path ${file.path}. Ingest them in separate runs with different --prefix values.`,
      );
    }
    firstByPath.set(file.path, file.absolute);
  }
}
