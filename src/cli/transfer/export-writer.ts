import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip, type Gzip } from 'node:zlib';
import { AppError } from '../../core/app-error.ts';
import { hasErrorCode } from '../../core/error-code.ts';
import type { CollectionInfo } from '../../schemas/collections.ts';
import type { ExportedDocument } from '../../schemas/exports.ts';
import { chainDigest, type ExportLine, exportFormat } from './export-format.ts';

/** State of an unfinished export, written after each checkpoint. */
interface ExportState {
  readonly format: number;
  readonly collectionId: string;
  /** Last path of the file. */
  readonly path: string;
  /** Bytes of the file up to the checkpoint. */
  readonly bytes: number;
  readonly documents: number;
  readonly files: number;
  /** See `chainDigest`. */
  readonly chain: string;
}

const gzipLevel = 1;

/**
 * Writes an export to `FILE.partial`, which becomes FILE when it is complete. Each checkpoint ends a gzip member and is
 * durable, so that an interrupted export continues after it.
 */
export class ExportWriter {
  readonly #file: string;
  #state: ExportState;
  #digest: Hash = createHash('sha256');
  #gzip: Gzip | null = null;
  #written: Promise<void> = Promise.resolve();

  /** Opens a new export, or continues an interrupted one of the same collection. Errors: 409 if FILE exists. */
  static async open(file: string, collection: CollectionInfo): Promise<ExportWriter> {
    await checkAbsent(file);
    const state = await readState(file);
    if (state === null) {
      await writeFile(`${file}.partial`, '');
      const initial = { format: exportFormat, collectionId: collection.id, path: '', bytes: 0 };
      const writer = new ExportWriter(file, { ...initial, documents: 0, files: 0, chain: '' });
      await writer.#writeLine({ type: 'export', format: exportFormat, collection });
      return writer;
    }
    if (state.collectionId !== collection.id || state.format !== exportFormat)
      throw new AppError(
        'conflict',
        `${file}.partial is an unfinished export of another collection. Delete it, or choose another file.`,
      );
    const partial = await open(`${file}.partial`, 'r+');
    try {
      await partial.truncate(state.bytes);
    } finally {
      await partial.close();
    }
    return new ExportWriter(file, state);
  }

  private constructor(file: string, state: ExportState) {
    this.#file = file;
    this.#state = state;
  }

  /** Last path of the file; empty at the start. */
  get path(): string {
    return this.#state.path;
  }

  get documents(): number {
    return this.#state.documents;
  }

  get files(): number {
    return this.#state.files;
  }

  /** Bytes of the file up to the last checkpoint. */
  get bytes(): number {
    return this.#state.bytes;
  }

  /** `file`: the bytes of the document's file, null for a text. Errors: 502 if the bytes differ from the SHA-256. */
  async writeDocument(document: ExportedDocument, file: AsyncIterable<Uint8Array> | null): Promise<void> {
    const { file_url: _, ...fields } = document;
    await this.#writeLine({ type: 'document', has_file: file !== null, document: fields });
    if (file !== null) await this.#writeFile(document, file);
    const { documents, files } = this.#state;
    this.#state = {
      ...this.#state,
      path: document.path,
      documents: documents + 1,
      files: files + (file === null ? 0 : 1),
    };
  }

  async #writeFile({ path, sha256, size }: ExportedDocument, file: AsyncIterable<Uint8Array>): Promise<void> {
    await this.#writeLine({ type: 'file', sha256, size });
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const part of file) {
      hash.update(part);
      bytes += part.byteLength;
      await this.#write(part);
    }
    if (bytes !== size || hash.digest('hex') !== sha256)
      throw new AppError(
        'bad_gateway',
        `The file of ${JSON.stringify(path)} was received incompletely. Try again.`,
      );
    await this.#write('\n');
  }

  /** Makes everything written so far durable. */
  async checkpoint(): Promise<void> {
    if (this.#gzip === null) return;
    const { documents, chain } = this.#state;
    const sha256 = this.#digest.digest('hex');
    this.#digest = createHash('sha256');
    await this.#writeCompressed(`${JSON.stringify({ type: 'checkpoint', documents, sha256 })}\n`);
    await this.#endMember();
    const bytes = await syncFile(`${this.#file}.partial`);
    this.#state = { ...this.#state, bytes, chain: chainDigest(chain, sha256) };
    await writeFile(`${this.#file}.partial.json.new`, JSON.stringify(this.#state));
    await rename(`${this.#file}.partial.json.new`, `${this.#file}.partial.json`);
  }

  /** Completes the file. */
  async finish(): Promise<void> {
    await this.checkpoint();
    const { documents, files, chain } = this.#state;
    await this.#writeCompressed(`${JSON.stringify({ type: 'end', documents, files, sha256: chain })}\n`);
    await this.#endMember();
    await syncFile(`${this.#file}.partial`);
    await rename(`${this.#file}.partial`, this.#file);
    await rm(`${this.#file}.partial.json`, { force: true });
  }

  /** Releases the file without completing it. Idempotent. */
  async close(): Promise<void> {
    const gzip = this.#gzip;
    this.#gzip = null;
    if (gzip === null) return;
    gzip.destroy();
    await this.#written.catch(() => {});
  }

  async #writeLine(line: ExportLine): Promise<void> {
    await this.#write(`${JSON.stringify(line)}\n`);
  }

  async #write(part: string | Uint8Array): Promise<void> {
    this.#digest.update(part);
    await this.#writeCompressed(part);
  }

  async #writeCompressed(part: string | Uint8Array): Promise<void> {
    this.#gzip ??= this.#beginMember();
    if (!this.#gzip.write(part)) await Promise.race([once(this.#gzip, 'drain'), this.#written]);
  }

  #beginMember(): Gzip {
    const gzip = createGzip({ level: gzipLevel });
    this.#written = pipeline(gzip, createWriteStream(`${this.#file}.partial`, { flags: 'a' }));
    this.#written.catch(() => {});
    return gzip;
  }

  async #endMember(): Promise<void> {
    this.#gzip?.end();
    this.#gzip = null;
    await this.#written;
  }
}

async function checkAbsent(file: string): Promise<void> {
  try {
    await (await open(file, 'r')).close();
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return;
    throw new AppError('bad_request', `${file} cannot be written: ${(error as Error).message}.`, {
      cause: error,
    });
  }
  throw new AppError('conflict', `${file} already exists. Choose another file.`);
}

async function readState(file: string): Promise<ExportState | null> {
  try {
    return JSON.parse(await readFile(`${file}.partial.json`, 'utf8')) as ExportState;
  } catch (cause) {
    if (hasErrorCode(cause, 'ENOENT')) return null;
    throw new AppError('bad_request', `${file}.partial.json cannot be read. Delete it to start over.`, {
      cause,
    });
  }
}

/** Resolves to the size of the file. */
async function syncFile(path: string): Promise<number> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}
