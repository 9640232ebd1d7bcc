import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { AppError } from '../../core/app-error.ts';
import type { CollectionInfo } from '../../schemas/collections.ts';
import { chainDigest, type ExportLine, exportFormat } from './export-format.ts';

/** A document of an export. Read `file` completely or not at all, before the next document. */
export interface ExportEntry {
  readonly document: Extract<ExportLine, { type: 'document' }>['document'];
  readonly file: AsyncIterable<Uint8Array> | null;
}

export interface ExportSummary {
  readonly collection: CollectionInfo;
  readonly documents: number;
}

const newline = 0x0a;

/**
 * Checks the whole file. Resolves to its collection and the number of its documents. Errors: 400 for a file
 * that is not an export, or is damaged or incomplete.
 */
export async function verifyExport(path: string): Promise<ExportSummary> {
  const reader = new ExportReader(path);
  let documents = 0;
  for await (const _ of reader.entries()) documents += 1;
  return { collection: reader.collection, documents };
}

/** Reads an export with bounded memory: one line, and the pieces of a file. */
export class ExportReader {
  readonly #path: string;
  readonly #bytes: ByteReader;
  #collection: CollectionInfo | null = null;

  constructor(path: string) {
    this.#path = path;
    this.#bytes = new ByteReader(readCompressed(path));
  }

  /** Set when the first document was read, or the end. */
  get collection(): CollectionInfo {
    if (this.#collection === null) throw this.#damaged('it has no first line');
    return this.#collection;
  }

  /** Yields the documents, and checks all checksums. Throws at the end at the latest if the file is damaged. */
  async *entries(): AsyncGenerator<ExportEntry, void, void> {
    let chain = '';
    let documents = 0;
    let files = 0;
    for (;;) {
      const line = await this.#readLine();
      if (line === null) throw this.#damaged('it ends early');
      if (line.type === 'export') this.#open(line);
      else if (this.#collection === null) throw this.#damaged('its first line is not that of an export');
      else if (line.type === 'checkpoint') {
        if (line.sha256 !== this.#bytes.takeDigest()) throw this.#damaged('a checksum differs');
        chain = chainDigest(chain, line.sha256);
      } else if (line.type === 'end') {
        if (line.sha256 !== chain || line.documents !== documents || line.files !== files)
          throw this.#damaged('parts are missing');
        return;
      } else if (line.type === 'document') {
        documents += 1;
        if (line.has_file) files += 1;
        yield* this.#entry(line);
      } else throw this.#damaged('its lines are out of order');
    }
  }

  #open({ format, collection }: Extract<ExportLine, { type: 'export' }>): void {
    if (format !== exportFormat)
      throw new AppError(
        'bad_request',
        `${this.#path} has the format ${format}; this version of quarry reads format ${exportFormat}.`,
      );
    this.#collection = collection;
  }

  async *#entry({
    document,
    has_file: hasFile,
  }: Extract<ExportLine, { type: 'document' }>): AsyncGenerator<ExportEntry, void, void> {
    if (!hasFile) {
      yield { document, file: null };
      return;
    }
    const line = await this.#readLine();
    if (line?.type !== 'file') throw this.#damaged('a file is missing');
    const file = this.#readFile(line);
    yield { document, file };
    // Skips and checks a file that the caller did not read.
    for await (const _ of file);
  }

  async *#readFile({
    size,
    sha256,
  }: Extract<ExportLine, { type: 'file' }>): AsyncGenerator<Uint8Array, void, void> {
    const hash = createHash('sha256');
    for await (const part of this.#bytes.readBytes(size)) {
      hash.update(part);
      yield part;
    }
    if (hash.digest('hex') !== sha256) throw this.#damaged('the SHA-256 of a file differs');
    if ((await this.#bytes.readLine(true))?.length !== 0) throw this.#damaged('a file has another size');
  }

  async #readLine(): Promise<ExportLine | null> {
    let line: Buffer | null = null;
    try {
      line = await this.#bytes.readLine(false);
      if (line === null) return null;
      const value = JSON.parse(line.toString()) as ExportLine;
      if (value.type !== 'checkpoint') this.#bytes.hashLine(line);
      return value;
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      throw this.#damaged('it cannot be decompressed or parsed', cause);
    }
  }

  #damaged(reason: string, cause?: unknown): AppError {
    return new AppError('bad_request', `${this.#path} is damaged or is not an export: ${reason}.`, { cause });
  }
}

async function* readCompressed(path: string): AsyncGenerator<Uint8Array, void, void> {
  const gunzip = createGunzip();
  // An error of the file destroys the stream, so that the loop below throws it.
  pipeline(createReadStream(path), gunzip, () => undefined);
  try {
    for await (const part of gunzip) yield part as Uint8Array;
  } catch (cause) {
    const isDamaged = String((cause as { code?: unknown }).code).startsWith('Z_');
    const reason = isDamaged ? 'is damaged or is not an export' : 'cannot be read';
    throw new AppError('bad_request', `${path} ${reason}: ${(cause as Error).message}.`, { cause });
  }
}

/** Reads lines and runs of bytes, and hashes them. */
class ByteReader {
  readonly #parts: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);
  #digest = createHash('sha256');

  constructor(parts: AsyncIterable<Uint8Array>) {
    this.#parts = parts[Symbol.asyncIterator]();
  }

  /** Returns the digest of everything hashed since the last call. */
  takeDigest(): string {
    const digest = this.#digest.digest('hex');
    this.#digest = createHash('sha256');
    return digest;
  }

  hashLine(line: Buffer): void {
    this.#digest.update(line).update('\n');
  }

  /** Returns the next line without its line feed; null at the end. */
  async readLine(isHashed: boolean): Promise<Buffer | null> {
    const pieces: Buffer[] = [];
    for (;;) {
      const end = this.#rest.indexOf(newline);
      if (end >= 0) {
        pieces.push(this.#rest.subarray(0, end));
        this.#rest = this.#rest.subarray(end + 1);
        const line = Buffer.concat(pieces);
        if (isHashed) this.hashLine(line);
        return line;
      }
      if (this.#rest.byteLength > 0) pieces.push(this.#rest);
      if (!(await this.#fill())) return null;
    }
  }

  /** Yields exactly `count` bytes. Throws if there are fewer. */
  async *readBytes(count: number): AsyncGenerator<Uint8Array, void, void> {
    for (let left = count; left > 0; ) {
      if (this.#rest.byteLength === 0 && !(await this.#fill()))
        throw new AppError('bad_request', 'The export ends within a file.');
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.byteLength);
      left -= part.byteLength;
      this.#digest.update(part);
      yield part;
    }
  }

  async #fill(): Promise<boolean> {
    const { value, done } = await this.#parts.next();
    this.#rest =
      done === true ? Buffer.alloc(0) : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return done !== true;
  }
}
