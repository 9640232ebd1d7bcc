import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { KeyedMutex } from '../../core/async/mutex.ts';
import { hasErrorCode } from '../../core/error-code.ts';
import { sourceLimits } from '../../core/source-limits.ts';

export interface GitCopiesOptions {
  /** Private folder; its content is deleted at the first use. */
  readonly folder: string;
  /** Bytes of all copies that are kept between runs. */
  readonly bytesMax: number;
}

interface CopyEntry {
  users: number;
  packs: PackSizes;
}

interface PackSizes {
  readonly count: number;
  readonly bytes: number;
}

const noPacks: PackSizes = { count: 0, bytes: 0 };

/** A copy of the repository of a source, in use until it is released. */
export interface GitCopy {
  readonly folder: string;
  /**
   * Runs `task` with an existing folder, after every earlier task of this copy. A copy that many fetches have made large
   * is deleted before, unless it is read now; `isNew` then says that the folder is empty.
   */
  update<Result>(task: (isNew: boolean) => Promise<Result>): Promise<Result>;
  /** Idempotent. */
  release(): Promise<void>;
}

/** Copies of repositories, kept so that a run fetches only what is new. The least recently used ones are deleted. */
export class GitCopies {
  readonly #options: GitCopiesOptions;
  readonly #locks = new KeyedMutex();
  /** In the order of their last use. */
  readonly #entries = new Map<string, CopyEntry>();
  #clearing: Promise<void> | null = null;

  constructor(options: GitCopiesOptions) {
    this.#options = options;
  }

  async open(sourceId: string): Promise<GitCopy> {
    this.#clearing ??= rm(this.#options.folder, { recursive: true, force: true });
    await this.#clearing;
    const entry = this.#entries.get(sourceId) ?? { users: 0, packs: noPacks };
    entry.users += 1;
    this.#entries.delete(sourceId);
    this.#entries.set(sourceId, entry);
    let isReleased = false;
    return {
      folder: this.#folderOf(sourceId),
      update: (task) => this.#locks.run(sourceId, () => this.#update(sourceId, entry, task)),
      release: async () => {
        if (isReleased) return;
        isReleased = true;
        entry.users -= 1;
        await this.#prune();
      },
    };
  }

  /** Deletes the copy of a source that is deleted. */
  async forget(sourceId: string): Promise<void> {
    await this.#locks.run(sourceId, () => this.#delete(sourceId));
  }

  async #update<Result>(
    sourceId: string,
    entry: CopyEntry,
    task: (isNew: boolean) => Promise<Result>,
  ): Promise<Result> {
    const folder = this.#folderOf(sourceId);
    const { count, bytes } = entry.packs;
    const isLarge = count >= sourceLimits.gitPacksMax || bytes >= sourceLimits.gitCopyBytesMax;
    if (isLarge && entry.users === 1) await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const isNew = (await readdir(folder)).length === 0;
    try {
      return await task(isNew);
    } finally {
      entry.packs = await measurePacks(folder);
    }
  }

  async #prune(): Promise<void> {
    let bytes = 0;
    for (const { packs } of this.#entries.values()) bytes += packs.bytes;
    for (const [sourceId, { users, packs }] of this.#entries) {
      if (bytes <= this.#options.bytesMax) return;
      if (users > 0) continue;
      await this.forget(sourceId);
      bytes -= packs.bytes;
    }
  }

  async #delete(sourceId: string): Promise<void> {
    if ((this.#entries.get(sourceId)?.users ?? 0) === 0) this.#entries.delete(sourceId);
    await rm(this.#folderOf(sourceId), { recursive: true, force: true });
  }

  #folderOf(sourceId: string): string {
    return join(this.#options.folder, sourceId);
  }
}

async function measurePacks(folder: string): Promise<PackSizes> {
  const packFolder = join(folder, 'objects', 'pack');
  try {
    const names = (await readdir(packFolder)).filter((name) => !name.endsWith('.idx'));
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(packFolder, name))).size));
    return { count: names.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return noPacks;
    throw error;
  }
}
