import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { AppError } from '../../core/app-error.ts';
import type { Clock } from '../../core/clock.ts';
import { toTimestamp } from '../../core/timestamps.ts';
import type { Metadata } from '../../storage/metadata-codec.ts';
import type {
  Source,
  SourceChange,
  SourceContent,
  SourceItem,
  SourceListing,
  SourceWatcher,
} from '../source.ts';
import { AccountNames } from './account-names.ts';
import { FolderWatcher } from './folder-watcher.ts';
import { isMissing, type WalkEntry, walkFolders } from './walk-folders.ts';

export interface DirectorySourceOptions {
  /** Absolute path of the folder. */
  readonly path: string;
  readonly includesHidden: boolean;
  /** Prefix of the URLs of the files; null: they have none. */
  readonly urlPrefix: string | null;
  /** The folder must be inside one of these. */
  readonly allowedFolders: readonly string[];
  /** The data directory of the server, which is never read. */
  readonly dataFolder: string;
  readonly clock: Pick<Clock, 'now'>;
}

/** Milliseconds after a change in which a file can change again without a new time stamp. */
const unstableMs = 2_000;

/** Files of a local folder. A symbolic link is read if it leads to a file inside the folder. */
export class DirectorySource implements Source {
  readonly #options: DirectorySourceOptions;
  /** Real path, without symbolic links. */
  readonly #root: string;
  readonly #dataFolder: string;
  #names: AccountNames | null = null;

  private constructor(options: DirectorySourceOptions, { root, data }: Record<'root' | 'data', string>) {
    this.#options = options;
    this.#root = root;
    this.#dataFolder = data;
  }

  /** Errors: `forbidden` for a folder outside the allowed folders, `bad_request` for one that cannot be read. */
  static async open(options: DirectorySourceOptions): Promise<DirectorySource> {
    const { path, allowedFolders, dataFolder } = options;
    // Checked before the file system is accessed, so that the reply does not reveal which other folders exist.
    if (!allowedFolders.some((allowed) => isInside(path, allowed))) throw folderNotAllowed(path);
    const root = await resolveFolder(path);
    const allowed = await Promise.all(allowedFolders.map((folder) => realpath(folder).catch(() => null)));
    if (!allowed.some((folder) => folder !== null && isInside(root, folder))) throw folderNotAllowed(path);
    const data = await realpath(dataFolder).catch(() => dataFolder);
    if (isInside(root, data))
      throw new AppError('forbidden', `The folder ${path} is inside the data directory of the server.`);
    return new DirectorySource(options, { root, data });
  }

  async *listChanges(
    _cursor: string | null,
    signal: AbortSignal,
  ): AsyncGenerator<SourceChange, SourceListing, void> {
    this.#names = await AccountNames.read();
    for await (const entry of walkFolders({ ...this.#walkOptions, signal })) {
      const change = await this.#toChange(entry);
      if (change !== null) yield change;
    }
    return { cursor: null, isComplete: true };
  }

  async #toChange(entry: WalkEntry): Promise<SourceChange | null> {
    if (entry.type === 'folder') return null;
    const { key } = entry;
    if (entry.type === 'unreadable')
      return { type: 'unlisted', key, isPrefix: entry.isFolder, reason: describe(entry.error) };
    try {
      const path = entry.type === 'link' ? await this.#resolveLink(entry.path) : entry.path;
      if (path === null) return null;
      const stats = await stat(path, { bigint: true });
      if (!stats.isFile()) return null;
      return { type: 'item', item: this.#toItem(key, stats) };
    } catch (error) {
      if (isMissing(error)) return null;
      return { type: 'unlisted', key, isPrefix: false, reason: describe(error) };
    }
  }

  #toItem(key: string, stats: BigIntStats): SourceItem {
    const { urlPrefix } = this.#options;
    const url = urlPrefix === null ? {} : { source_url: `${urlPrefix}${encodeKey(key)}` };
    return { key, version: versionOf(stats), metadata: { ...url, ...this.#attributesOf(stats) } };
  }

  #attributesOf({ mtimeMs, uid, gid, mode }: BigIntStats): Metadata {
    const names = this.#names;
    const time = { modified_at: toTimestamp(Number(mtimeMs)) };
    if (names === null || process.platform === 'win32') return time;
    return {
      ...time,
      source_owner: names.user(Number(uid)),
      source_group: names.group(Number(gid)),
      source_mode: (Number(mode) & 0o7777).toString(8).padStart(4, '0'),
    };
  }

  async read({ key }: SourceItem, signal: AbortSignal): Promise<SourceContent | null> {
    const now = this.#options.clock.now();
    const file = await this.#openFile(key);
    if (file === null) return null;
    let isOpened = false;
    try {
      const stats = await file.stat({ bigint: true });
      if (!stats.isFile()) return null;
      const isStable = now - Number(stats.ctimeMs) > unstableMs;
      isOpened = true;
      return {
        bytes: file.createReadStream({ signal, highWaterMark: 262_144 }),
        version: () => (isStable ? versionOf(stats) : ''),
        metadata: this.#attributesOf(stats),
      };
    } finally {
      if (!isOpened) await file.close();
    }
  }

  /** Returns null if there is no such file below the root. Never waits for a pipe. */
  async #openFile(key: string): Promise<FileHandle | null> {
    let file: FileHandle;
    try {
      const path = await this.#resolveLink(join(this.#root, key));
      if (path === null) return null;
      file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
    // A folder of the path may have been replaced by a link since it was resolved.
    const opened = await readlink(`/proc/self/fd/${file.fd}`).catch(() => null);
    if (opened === null || this.#isReadable(opened)) return file;
    await file.close();
    return null;
  }

  async exists(key: string, signal: AbortSignal): Promise<boolean> {
    // A file that is now ignored exists, but its document must be deleted, so the listing of its folder decides.
    const folder = key.slice(0, key.lastIndexOf('/') + 1);
    try {
      const path = await this.#resolveLink(join(this.#root, key));
      if (path === null || !(await stat(path)).isFile()) return false;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
    for await (const entry of walkFolders({ ...this.#walkOptions, signal, only: folder }))
      if (entry.type !== 'folder' && entry.key === key) return true;
    return false;
  }

  watch(onChange: () => void): Promise<SourceWatcher> {
    return FolderWatcher.open({ ...this.#walkOptions, onChange });
  }

  async close(): Promise<void> {}

  get #walkOptions() {
    const { includesHidden } = this.#options;
    return { root: this.#root, includesHidden, excluded: this.#dataFolder };
  }

  /** Returns the path without links; null if it leads out of the root. Errors: those of the file system. */
  async #resolveLink(path: string): Promise<string | null> {
    const resolved = await realpath(path);
    return this.#isReadable(resolved) ? resolved : null;
  }

  #isReadable(path: string): boolean {
    return isInside(path, this.#root) && !isInside(path, this.#dataFolder);
  }
}

async function resolveFolder(path: string): Promise<string> {
  try {
    const root = await realpath(path);
    if ((await stat(root)).isDirectory()) return root;
  } catch (cause) {
    throw new AppError('bad_request', `The folder ${path} cannot be read. ${describe(cause)}`, { cause });
  }
  throw new AppError('bad_request', `${path} is not a folder. Name the folder that contains the file.`);
}

function folderNotAllowed(path: string): AppError {
  return new AppError(
    'forbidden',
    `The folder ${path} is not inside a folder of QUARRY_SOURCE_FOLDERS. Ask the operator of this server to allow it.`,
  );
}

/** Whether a path is a folder or below it. Both are absolute and normalized. */
function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

function versionOf({ mtimeNs, ctimeNs, size, ino }: BigIntStats): string {
  return `${mtimeNs}-${ctimeNs}-${size}-${ino}`;
}

function encodeKey(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/');
}

function describe(error: unknown): string {
  if (error instanceof AppError) return error.message;
  const { code, message } = error as { code?: string; message?: string };
  switch (code) {
    case 'ENOENT':
      return 'It does not exist.';
    case 'EACCES':
      return 'The server has no permission to read it.';
    default:
      return `Reading it failed (${code ?? message}).`;
  }
}
