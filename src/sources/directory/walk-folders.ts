import type { Dirent } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../core/app-error.ts';
import { hasErrorCode } from '../../core/error-code.ts';
import { sourceLimits } from '../../core/source-limits.ts';
import { IgnoreRules } from './ignore-rules.ts';

/** Name of the file with the patterns of entries that are not documents. */
const ignoreFile = '.quarryignore';

export interface FolderWalkOptions {
  readonly root: string;
  readonly includesHidden: boolean;
  /** Folder that is never entered: the data directory of the server. */
  readonly excluded: string;
  readonly signal: AbortSignal;
  /** Key of a folder with a slash at its end, or empty: enters only the folders that lead to it. */
  readonly only?: string;
}

/** A folder, a file or link in it, or an error. Keys are names below the root with slashes. */
export type WalkEntry =
  | { readonly type: 'folder'; readonly path: string }
  | { readonly type: 'file' | 'link'; readonly path: string; readonly key: string }
  | {
      readonly type: 'unreadable';
      readonly key: string;
      readonly isFolder: boolean;
      readonly error: unknown;
    };

/**
 * Lists everything below the root that is not ignored. A folder is listed before its entries are read, so that a
 * watcher can be added first. Links to folders are listed as links. Errors: that of the root.
 */
export async function* walkFolders(options: FolderWalkOptions): AsyncGenerator<WalkEntry, void, void> {
  yield* walkFolder(options, [], IgnoreRules.none);
}

async function* walkFolder(
  options: FolderWalkOptions,
  names: readonly string[],
  inherited: IgnoreRules,
): AsyncGenerator<WalkEntry, void, void> {
  const { root, includesHidden, excluded, signal, only } = options;
  signal.throwIfAborted();
  const path = join(root, ...names);
  if (path === excluded) return;
  yield { type: 'folder', path };
  let entries: Dirent[];
  let rules: IgnoreRules;
  try {
    entries = await readdir(path, { withFileTypes: true });
    const hasRules = entries.some(({ name }) => name === ignoreFile);
    rules = hasRules ? inherited.with(await readRules(join(path, ignoreFile)), names.length) : inherited;
  } catch (error) {
    if (names.length === 0) throw error;
    // Deleted since its parent was read.
    if (isMissing(error)) return;
    yield { type: 'unreadable', key: `${names.join('/')}/`, isFolder: true, error };
    return;
  }
  for (const entry of entries) {
    const { name } = entry;
    if (name === ignoreFile || (name.startsWith('.') && !includesHidden)) continue;
    const entryNames = [...names, name];
    const isFolder = entry.isDirectory();
    if (rules.ignores(entryNames, isFolder)) continue;
    const key = entryNames.join('/');
    // Node.js replaces bytes that are not UTF-8, so the file cannot be opened by this name.
    if (name.includes('\ufffd')) {
      const error = new AppError('bad_request', 'The name is not valid UTF-8. Rename the file.');
      yield { type: 'unreadable', key: isFolder ? `${key}/` : key, isFolder, error };
    } else if (isFolder) {
      if (only === undefined || only.startsWith(`${key}/`)) yield* walkFolder(options, entryNames, rules);
    } else if (entry.isFile()) yield { type: 'file', path: join(path, name), key };
    else if (entry.isSymbolicLink()) yield { type: 'link', path: join(path, name), key };
  }
}

/** Errors: a file that cannot be read makes its folder unreadable, so that ignored files are not added. */
async function readRules(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > sourceLimits.ignoreBytesMax)
      throw new AppError(
        'too_large',
        `${ignoreFile} must be a file of at most ${sourceLimits.ignoreBytesMax} bytes.`,
      );
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Whether an error means that an entry does not exist. */
export function isMissing(error: unknown): boolean {
  return hasErrorCode(error, 'ENOENT', 'ENOTDIR');
}
