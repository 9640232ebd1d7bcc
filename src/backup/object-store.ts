import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { AppError } from '../core/app-error.ts';
import { hasErrorCode } from '../core/error-code.ts';
import { type BodyCipher, decodeObject, encodeObject, isCompressible } from './object-format.ts';
import { type BackupTarget, piecesOf } from './target.ts';
import type { Throttle } from './throttle.ts';

export const objectsFolder = 'objects';
const hashPattern = /^[0-9a-f]{64}$/;

/** Encryption of one backup target. */
export interface ObjectCipher extends BodyCipher {
  /** Derives the name of an object from the SHA-256 of its content, so that the name does not reveal it. */
  nameOf(contentHash: string): string;
}

/** Reference to an object. */
export interface StoredObject {
  /** SHA-256 of the content, lower-case hex. */
  readonly hash: string;
  readonly bytes: number;
  /** False when the target already had it. */
  readonly isNew: boolean;
}

interface ObjectStoreOptions {
  readonly target: BackupTarget;
  readonly cipher: ObjectCipher | null;
  readonly throttle: Pick<Throttle, 'take'>;
}

/** Bytes read from a file per step. */
const fileChunkBytes = 262_144;

/** Content-addressed objects of a backup target: equal contents are stored once. */
export class ObjectStore {
  readonly #options: ObjectStoreOptions;
  #storedBytes = 0;
  #newObjects = 0;

  constructor(options: ObjectStoreOptions) {
    this.#options = options;
  }

  /** Value by which a manifest recognizes the key; null without encryption. */
  get keyCheck(): string | null {
    return this.#options.cipher?.nameOf('') ?? null;
  }

  /** Bytes written to the target. */
  get storedBytes(): number {
    return this.#storedBytes;
  }

  get newObjects(): number {
    return this.#newObjects;
  }

  /** Returns the name of the file of an object. */
  nameOf(hash: string): string {
    if (!hashPattern.test(hash))
      throw new AppError('bad_gateway', `${hash} is not the SHA-256 of an object.`);
    const name = this.#options.cipher?.nameOf(hash) ?? hash;
    return `${objectsFolder}/${name.slice(0, 2)}/${name}`;
  }

  /** Stores content that is in memory. */
  async put(content: Uint8Array): Promise<StoredObject> {
    await this.#options.throttle.take(content.byteLength);
    const hash = createHash('sha256').update(content).digest('hex');
    const isNew = !(await this.#options.target.has(this.nameOf(hash)));
    if (isNew) await this.#write(hash, piecesOf(content), await isCompressible(content));
    return { hash, bytes: content.byteLength, isNew };
  }

  /**
   * Stores a file. `hash`: the SHA-256 of its content, which is compared with what is read. Errors:
   * `not_found` when the file does not exist, `bad_gateway` when its content differs.
   */
  async putFile(path: string, hash: string): Promise<StoredObject> {
    const file = await openFile(path);
    try {
      const { size } = await file.stat();
      if (await this.#options.target.has(this.nameOf(hash))) return { hash, bytes: size, isNew: false };
      const start = Buffer.alloc(Math.min(size, fileChunkBytes));
      await file.read(start, 0, start.byteLength, 0);
      await this.#write(hash, this.#readFile(path, hash), await isCompressible(start));
      return { hash, bytes: size, isNew: true };
    } finally {
      await file.close();
    }
  }

  /** Reads an object in pieces; throws at the end if its content differs from its hash. */
  async *read(hash: string): AsyncGenerator<Uint8Array, void, void> {
    const { target, cipher } = this.#options;
    const name = this.nameOf(hash);
    const digest = createHash('sha256');
    for await (const part of decodeObject(target.read(name), name, cipher)) {
      digest.update(part);
      yield part;
    }
    if (digest.digest('hex') !== hash)
      throw new AppError('bad_gateway', `The object ${name} is damaged: its content differs from its name.`);
  }

  async readWhole(hash: string): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for await (const part of this.read(hash)) parts.push(part);
    return Buffer.concat(parts);
  }

  async #write(hash: string, content: AsyncIterable<Uint8Array>, isCompressed: boolean): Promise<void> {
    const { target, cipher } = this.#options;
    const name = this.nameOf(hash);
    const encoded = encodeObject(content, { name, isCompressed, cipher });
    await target.write(name, this.#count(encoded));
    this.#newObjects += 1;
  }

  async *#count(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    for await (const part of parts) {
      this.#storedBytes += part.byteLength;
      yield part;
    }
  }

  async *#readFile(path: string, hash: string): AsyncGenerator<Uint8Array, void, void> {
    const digest = createHash('sha256');
    for await (const part of createReadStream(path, { highWaterMark: fileChunkBytes })) {
      const bytes = part as Uint8Array;
      await this.#options.throttle.take(bytes.byteLength);
      digest.update(bytes);
      yield bytes;
    }
    if (digest.digest('hex') !== hash)
      throw new AppError('bad_gateway', `The file ${path} is damaged: its SHA-256 is not ${hash}.`);
  }
}

async function openFile(path: string) {
  try {
    return await open(path, 'r');
  } catch (cause) {
    if (!hasErrorCode(cause, 'ENOENT')) throw cause;
    throw new AppError('not_found', `The file ${path} does not exist.`, { cause });
  }
}
