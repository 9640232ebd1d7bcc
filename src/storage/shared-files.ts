import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { AppError } from '../core/app-error.ts';
import type { Random } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';

/** Place of immutable files by name: a shared folder or a bucket. A file appears when it is complete. */
export interface FileTarget {
  /** As given by the operator, for messages. */
  readonly location: string;
  write(name: string, parts: AsyncIterable<Uint8Array>): Promise<void>;
  /** Makes all earlier writes and removals survive a power failure. */
  flush(): Promise<void>;
  /** Errors: `not_found`. */
  read(name: string): AsyncIterable<Uint8Array>;
  list(folder: string): AsyncIterable<{ readonly name: string; readonly bytes: number }>;
  remove(name: string): Promise<void>;
  /** Creates a file unless it exists. Returns false when it exists. */
  create(name: string, text: string): Promise<boolean>;
  /** Removes unfinished files of interrupted writes. Only the owner of the data calls it. */
  removeUnfinished(): Promise<void>;
}

export interface SharedFilesOptions {
  readonly target: FileTarget;
  readonly random: Pick<Random, 'uuid'>;
  readonly logger: Logger;
  /** Epoch of this process as the owner of the data; later owners have larger ones. */
  readonly epoch: () => number;
  /** Resolves if this process still owned the data after all of its earlier writes; otherwise rejects. */
  readonly confirmOwnership: () => Promise<void>;
}

interface SharedFile {
  readonly name: string;
  readonly bytes: number;
  readonly hash: string;
  readonly epoch: number;
}

const folder = 'files';
const namePattern = /^files\/[0-9a-f]{2}\/[0-9a-f]{2}\/([0-9a-f]{64})\.(\d{16})\.[0-9a-f-]{36}$/;

/**
 * Raw files of documents, named by SHA-256, epoch of the owner that wrote them, and a UUID:
 * `files/ab/cd/<hash>.<epoch>.<uuid>`. An owner that was replaced can still delete files, for example because its
 * process was stopped meanwhile. It deletes files of its own epochs and earlier ones only, so that it cannot delete one
 * that the next owner refers to: that one writes a new file for each hash that no document refers to.
 */
export class SharedFiles {
  readonly #options: SharedFilesOptions;

  constructor(options: SharedFilesOptions) {
    this.#options = options;
  }

  /** Returns the size in bytes; null when the file does not exist. */
  async size(hash: string): Promise<number | null> {
    return (await this.#find(hash))?.bytes ?? null;
  }

  /** Stores the file at `path`. Resolves when it is durable. */
  async put(hash: string, path: string): Promise<void> {
    const { target, random, epoch } = this.#options;
    const name = `${folderOf(hash)}/${hash}.${String(epoch()).padStart(16, '0')}.${random.uuid()}`;
    await this.#call('stored', async () => {
      await target.write(name, createReadStream(path, { highWaterMark: 1_048_576 }));
      await target.flush();
    });
  }

  /** Returns the content, compared with its hash at the end; null when the file does not exist. */
  async read(hash: string): Promise<AsyncGenerator<Uint8Array, void, void> | null> {
    const found = await this.#find(hash);
    return found === null ? null : this.#readFile(found);
  }

  /** Deletes the files of a hash that this process and earlier owners wrote, if it is still the owner. */
  async remove(hash: string): Promise<boolean> {
    const { target, epoch, confirmOwnership, logger } = this.#options;
    try {
      await confirmOwnership();
    } catch (error) {
      // The next owner deletes it.
      logger.warn({ hash, error: String(error) }, 'file not deleted');
      return false;
    }
    const last = epoch();
    await this.#call('deleted', async () => {
      for (const file of await this.#filesOf(hash)) if (file.epoch <= last) await target.remove(file.name);
      await target.flush();
    });
    return true;
  }

  /** Yields the hash of each file; of one with several files, several times. */
  async *list(): AsyncGenerator<string, void, void> {
    for await (const { name } of this.#options.target.list(folder)) {
      const file = parseName(name, 0);
      if (file !== null) yield file.hash;
    }
  }

  async *#readFile({ name, hash }: SharedFile): AsyncGenerator<Uint8Array, void, void> {
    const digest = createHash('sha256');
    try {
      for await (const part of this.#options.target.read(name)) {
        digest.update(part);
        yield part;
      }
    } catch (error) {
      throw this.#unavailable('read', error);
    }
    if (digest.digest('hex') !== hash)
      throw new AppError(
        'bad_gateway',
        `The file ${name} of QUARRY_FILES is damaged: its content differs from its name.`,
      );
  }

  async #find(hash: string): Promise<SharedFile | null> {
    const files = await this.#call('listed', () => this.#filesOf(hash));
    return files.at(-1) ?? null;
  }

  async #filesOf(hash: string): Promise<SharedFile[]> {
    const files: SharedFile[] = [];
    for await (const { name, bytes } of this.#options.target.list(folderOf(hash))) {
      const file = parseName(name, bytes);
      if (file?.hash === hash) files.push(file);
    }
    return files;
  }

  async #call<Result>(action: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw this.#unavailable(action, error);
    }
  }

  #unavailable(action: string, cause: unknown): AppError {
    const { target, logger } = this.#options;
    logger.error({ location: target.location, error: String(cause) }, `file could not be ${action}`);
    return new AppError(
      'unavailable',
      `A file could not be ${action}, because the store of files cannot be used. Try again shortly.`,
      { retryAfterMs: 1_000, cause },
    );
  }
}

function folderOf(hash: string): string {
  return `${folder}/${hash.slice(0, 2)}/${hash.slice(2, 4)}`;
}

function parseName(name: string, bytes: number): SharedFile | null {
  const [, hash, epoch] = namePattern.exec(name) ?? [];
  return hash === undefined ? null : { name, bytes, hash, epoch: Number(epoch) };
}
