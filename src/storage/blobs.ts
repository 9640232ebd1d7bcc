import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { assert } from '../core/assert.ts';
import { hasErrorCode } from '../core/error-code.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import { isReferenced } from './blob-references.ts';
import { mapDiskFullError, syncFolder } from './durable-files.ts';
import { FileCache, type FileCopy } from './file-cache.ts';
import type { SharedFiles } from './shared-files.ts';
import type { FreeSpaceCheck, Store } from './store.ts';

/**
 * Options of the blob store: raw bytes in files named by their SHA-256, `ab/cd/<hash>`. Each file is written
 * once: to a temporary file while it is hashed, fsynced, renamed, and the folder fsynced. Equal bytes share
 * one file. A file is kept while a reference in the store names it (blob-references.ts) or a `PinnedBlob`
 * pins it.
 *
 * With shared files, a blob is durable there, and the files of the directory are copies.
 */
export interface BlobsOptions {
  /** Folder used by the blobs only; created if missing. */
  readonly directory: string;
  /** Store with the references. */
  readonly store: Store;
  readonly random: Random;
  readonly space?: FreeSpaceCheck;
  readonly shared?: {
    readonly files: SharedFiles;
    /** Size of the copies in bytes. */
    readonly cacheBytes: number;
  };
}

/**
 * A durable blob, protected from deletion until `release`. Call `release` after the write with its reference
 * was acknowledged or abandoned. `release` is idempotent.
 */
export interface PinnedBlob {
  /** SHA-256, lower-case hex. */
  readonly hash: string;
  readonly size: number;
  release(): void;
}

/** Bytes hashed per step: about a millisecond. */
const hashChunkBytes = 1_048_576;

const hashPattern = /^[0-9a-f]{64}$/;

export class Blobs {
  readonly #options: BlobsOptions;
  readonly #temporary: string;
  readonly #shared: { readonly files: SharedFiles; readonly cache: FileCache } | null;
  readonly #pins = new Map<string, number>();
  /** Folders whose directory entries this process has already fsynced. */
  readonly #durableFolders = new Set<string>();
  readonly #deleting = new Map<string, Promise<boolean>>();
  /** Reasons to defer deletions, each with the hashes whose deletion was requested meanwhile. */
  readonly #holds = new Set<Set<string>>();

  /** Opens the blob store and deletes temporary files left by a crash. */
  static async open(options: BlobsOptions): Promise<Blobs> {
    const blobs = new Blobs(options);
    await rm(blobs.#temporary, { recursive: true, force: true });
    await mkdir(blobs.#temporary, { recursive: true, mode: 0o700 });
    const { cache } = blobs.#shared ?? {};
    if (cache !== undefined) for await (const hash of blobs.#listLocalHashes()) await cache.add(hash);
    return blobs;
  }

  private constructor(options: BlobsOptions) {
    this.#options = options;
    this.#temporary = join(options.directory, 'incoming');
    const { shared, random } = options;
    this.#shared =
      shared === undefined
        ? null
        : {
            files: shared.files,
            cache: new FileCache({
              files: shared.files,
              bytesMax: shared.cacheBytes,
              pathOf: (hash) => this.path(hash),
              createTemporaryPath: () => join(this.#temporary, random.uuid()),
            }),
          };
  }

  /** Returns the absolute path of a blob's file, whether it exists or not; with shared files, that of its copy. */
  path(hash: string): string {
    assert(hashPattern.test(hash), 'a blob is named by a SHA-256 in lower-case hex');
    return join(this.#folder(hash), hash);
  }

  /**
   * Returns the file of a blob for a reader that opens it by path, and keeps it until `release`. A missing blob has a
   * path without a file.
   */
  async use(hash: string): Promise<FileCopy> {
    const copy = (await this.#shared?.cache.use(hash)) ?? null;
    return copy ?? { path: this.path(hash), release: () => {} };
  }

  /** Returns the size in bytes; null when the blob does not exist. */
  async size(hash: string): Promise<number | null> {
    const size = await this.#localSize(hash);
    return size === null && this.#shared !== null ? this.#shared.files.size(hash) : size;
  }

  /** Whether a blob exists. With shared files, an unreferenced one counts as deleted, which needs no request. */
  async exists(hash: string): Promise<boolean> {
    if (this.#shared === null) return (await this.#localSize(hash)) !== null;
    return this.#pins.has(hash) || (await isReferenced(this.#options.store, hash));
  }

  async #localSize(hash: string): Promise<number | null> {
    try {
      return (await stat(this.path(hash))).size;
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT')) return null;
      throw error;
    }
  }

  /**
   * Opens a blob for (range) reads; the caller closes the handle. Null when the blob does not exist. An open
   * file remains readable after collection.
   */
  async open(hash: string): Promise<FileHandle | null> {
    const file = await this.use(hash);
    try {
      return await open(file.path, 'r');
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT')) return null;
      throw error;
    } finally {
      file.release();
    }
  }

  /** Starts a blob whose bytes arrive in pieces. Errors: `reserve_reached` when the disk is nearly full. */
  async createWriter(): Promise<BlobWriter> {
    this.#options.space?.check();
    const path = join(this.#temporary, this.#options.random.uuid());
    const file = await mapDiskFullError(open(path, 'wx', 0o600));
    const { space } = this.#options;
    return new BlobWriter({ file, path, ...(space && { space }), store: (hash) => this.#store(hash, path) });
  }

  /** Stores a blob whose bytes are complete. */
  async put(bytes: Uint8Array): Promise<PinnedBlob> {
    const writer = await this.createWriter();
    try {
      for (let at = 0; at < bytes.byteLength; at += hashChunkBytes)
        await writer.write(bytes.subarray(at, at + hashChunkBytes));
      return await writer.finish();
    } catch (error) {
      await writer.abort();
      throw error;
    }
  }

  /**
   * Defers all deletions until the returned function is called, so that a backup can copy the files of a
   * snapshot. The function deletes the files that were to be deleted meanwhile, unless another hold that was
   * active at that time defers them; it is idempotent. Files beyond `limits.blobDeletionsDeferredMax`, or deferred
   * before a crash, are orphans, which the next start deletes.
   */
  holdDeletions(): () => Promise<void> {
    const hold = new Set<string>();
    this.#holds.add(hold);
    return async () => {
      if (!this.#holds.delete(hold)) return;
      for (const hash of hold) {
        const isHeld = [...this.#holds].some((other) => other.has(hash));
        if (!isHeld) await this.#deleteIfUnreferenced(hash);
      }
    };
  }

  /**
   * Deletes the file unless it is referenced or pinned, or deletions are deferred. Resolves to true when it was
   * deleted.
   */
  async deleteIfUnreferenced(hash: string): Promise<boolean> {
    if (this.#holds.size > 0) {
      for (const hold of this.#holds) if (hold.size < limits.blobDeletionsDeferredMax) hold.add(hash);
      return false;
    }
    return this.#deleteIfUnreferenced(hash);
  }

  async #deleteIfUnreferenced(hash: string): Promise<boolean> {
    const running = this.#deleting.get(hash);
    if (running !== undefined) return running;
    if (this.#pins.has(hash)) return false;
    const deletion = this.#delete(hash).finally(() => this.#deleting.delete(hash));
    this.#deleting.set(hash, deletion);
    return deletion;
  }

  /** Scans all files and deletes unreferenced ones, left by a crash. Resolves to their number. */
  async deleteOrphans(signal?: AbortSignal): Promise<number> {
    let deleted = 0;
    for await (const hash of this.#listHashes()) {
      if (signal?.aborted === true) break;
      if (await this.deleteIfUnreferenced(hash)) deleted += 1;
    }
    await this.#deleteUnreferencedCopies(signal);
    return deleted;
  }

  /** Deletes copies of files that another owner has deleted. */
  async #deleteUnreferencedCopies(signal?: AbortSignal): Promise<void> {
    if (this.#shared === null) return;
    for await (const hash of this.#listLocalHashes()) {
      if (signal?.aborted === true) return;
      const isKept = this.#pins.has(hash) || (await isReferenced(this.#options.store, hash));
      if (!isKept) await this.#shared.cache.remove(hash);
    }
  }

  /** Returns the number of files that are neither referenced nor pinned. */
  async countOrphans(): Promise<number> {
    let found = 0;
    for await (const hash of this.#listHashes()) {
      if (!this.#pins.has(hash) && !(await isReferenced(this.#options.store, hash))) found += 1;
    }
    return found;
  }

  /** A concurrent `#store` of the same bytes waits until this has ended. */
  async #delete(hash: string): Promise<boolean> {
    if (await isReferenced(this.#options.store, hash)) return false;
    if (this.#shared === null) {
      await rm(this.path(hash), { force: true });
      return true;
    }
    await this.#shared.cache.remove(hash);
    return this.#shared.files.remove(hash);
  }

  async #store(hash: string, temporary: string): Promise<() => void> {
    // A pin taken before the deletion started would have prevented it; a running deletion is awaited.
    while (this.#deleting.has(hash)) await this.#deleting.get(hash);
    this.#pins.set(hash, (this.#pins.get(hash) ?? 0) + 1);
    try {
      await this.#moveIntoPlace(hash, temporary);
    } catch (error) {
      this.#unpin(hash);
      throw error;
    }
    return () => this.#unpin(hash);
  }

  async #moveIntoPlace(hash: string, temporary: string): Promise<void> {
    const folder = this.#folder(hash);
    if (this.#shared !== null && !(await this.#isShared(hash, this.#shared.files)))
      await this.#shared.files.put(hash, temporary);
    if ((await this.#localSize(hash)) !== null) {
      await rm(temporary, { force: true });
    } else {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await rename(temporary, this.path(hash));
    }
    if (this.#shared !== null) {
      await this.#shared.cache.add(hash);
      return;
    }
    // Also for an existing file: the writer that renamed it may not have synced the folder yet.
    await syncFolder(folder);
    if (this.#durableFolders.has(folder)) return;
    await syncFolder(dirname(folder));
    await syncFolder(this.#options.directory);
    this.#durableFolders.add(folder);
  }

  /** A file without a reference can be one that an earlier owner is about to delete. */
  async #isShared(hash: string, files: SharedFiles): Promise<boolean> {
    return (await isReferenced(this.#options.store, hash)) && (await files.size(hash)) !== null;
  }

  #unpin(hash: string): void {
    const pins = (this.#pins.get(hash) ?? 0) - 1;
    if (pins > 0) this.#pins.set(hash, pins);
    else this.#pins.delete(hash);
  }

  #folder(hash: string): string {
    return join(this.#options.directory, hash.slice(0, 2), hash.slice(2, 4));
  }

  #listHashes(): AsyncGenerator<string, void, void> {
    return this.#shared === null ? this.#listLocalHashes() : this.#shared.files.list();
  }

  async *#listLocalHashes(): AsyncGenerator<string, void, void> {
    const { directory } = this.#options;
    for (const first of await readdir(directory)) {
      if (!/^[0-9a-f]{2}$/.test(first)) continue;
      for (const second of await readdir(join(directory, first))) {
        for (const name of await readdir(join(directory, first, second))) {
          if (hashPattern.test(name)) yield name;
        }
      }
    }
  }
}

interface BlobWriterOptions {
  readonly file: FileHandle;
  readonly path: string;
  readonly space?: FreeSpaceCheck;
  /** Moves the finished file into place and pins it; resolves to the function that unpins it. */
  readonly store: (hash: string) => Promise<() => void>;
}

/**
 * Writes the bytes of one blob in order. End it with `finish` or `abort`; `abort` after `finish` does
 * nothing.
 */
export class BlobWriter {
  readonly #options: BlobWriterOptions;
  readonly #digest: Hash = createHash('sha256');
  #size = 0;
  #ended = false;

  constructor(options: BlobWriterOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#size;
  }

  /** Await each call before the next one. Errors: `reserve_reached` when the disk is full or nearly full. */
  async write(bytes: Uint8Array): Promise<void> {
    assert(!this.#ended, 'the blob is not finished');
    this.#options.space?.check();
    this.#digest.update(bytes);
    this.#size += bytes.byteLength;
    await mapDiskFullError(this.#options.file.appendFile(bytes));
  }

  /** Makes the blob durable and pins it for the caller. */
  async finish(): Promise<PinnedBlob> {
    assert(!this.#ended, 'the blob is not finished');
    const hash = this.#digest.digest('hex');
    const size = this.#size;
    await mapDiskFullError(this.#options.file.sync());
    this.#ended = true;
    await this.#options.file.close();
    let release: (() => void) | null = await this.#store(hash);
    return {
      hash,
      size,
      release() {
        release?.();
        release = null;
      },
    };
  }

  async #store(hash: string): Promise<() => void> {
    const { store, path } = this.#options;
    try {
      return await mapDiskFullError(store(hash));
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  /** Discards the bytes. */
  async abort(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    await this.#options.file.close();
    await rm(this.#options.path, { force: true });
  }
}
