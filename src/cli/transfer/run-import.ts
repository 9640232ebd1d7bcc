import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../../core/app-error.ts';
import type { GetDocumentInfoResponse } from '../../schemas/documents.ts';
import type { DocumentMetadataJson } from '../../schemas/wire.ts';
import { ApiResponseError } from '../api-client.ts';
import type { CommandContext } from '../command.ts';
import { type ListedDocument, listDocuments } from '../document-list.ts';
import { ProgressBar } from '../progress.ts';
import { pluralize } from '../text-layout.ts';
import { Uploader } from '../upload.ts';
import { type ImportSample, toSample } from './compare-import.ts';
import { DocumentSender } from './document-sender.ts';
import type { ImportItem, ImportSource, SkippedItem } from './import-source.ts';

export interface ImportOptions {
  readonly collection: string;
  /** Whether the collection did not exist before, so that there are no documents to compare. */
  readonly isNew: boolean;
  /** Replace documents that differ. */
  readonly overwrite: boolean;
  readonly wait: boolean;
  /** Only read and compare. */
  readonly dryRun: boolean;
}

export interface ImportResult {
  readonly added: number;
  /** Documents that the collection already had. */
  readonly unchanged: number;
  /** Some of the documents that the collection has now. */
  readonly samples: readonly ImportSample[];
  /** Documents that were rejected, and items that cannot be imported. */
  readonly skipped: readonly SkippedItem[];
}

/** Larger files are uploaded separately, so that a request stays far below the limit of a body. */
const inlineFileBytesMax = 16 * 1_048_576;

/** Imports all documents of a source that the collection does not have yet. */
export async function runImport(
  context: CommandContext,
  source: ImportSource,
  options: ImportOptions,
): Promise<ImportResult> {
  const run = new ImportRun(context, source, options);
  return await run.run();
}

class ImportRun {
  readonly #context: CommandContext;
  readonly #source: ImportSource;
  readonly #options: ImportOptions;
  readonly #sender: DocumentSender;
  readonly #known: KnownDocuments;
  readonly #skipped: SkippedItem[] = [];
  #read = 0;
  /** Documents that a dry run would add. */
  #found = 0;
  #unchanged = 0;
  readonly #samples: ImportSample[] = [];

  constructor(context: CommandContext, source: ImportSource, options: ImportOptions) {
    const { collection, wait, isNew } = options;
    this.#context = context;
    this.#source = source;
    this.#options = options;
    this.#sender = new DocumentSender({ api: context.api, collection, wait });
    this.#known = isNew
      ? { find: async () => null }
      : source.isSorted
        ? new ListedDocuments(context, collection)
        : { find: (path) => findDocument(context, collection, path) };
  }

  async run(): Promise<ImportResult> {
    const { terminal, clock, signal } = this.#context;
    const progress = new ProgressBar(this.#options.dryRun ? 'Reading' : 'Importing', terminal, clock);
    const { total } = this.#source;
    for await (const item of this.#source.items((skipped) => void this.#skipped.push(skipped))) {
      signal.throwIfAborted();
      await this.#import(item);
      this.#read += 1;
      const label = pluralize(this.#read, 'document');
      if (total !== null) progress.update({ done: this.#read, total: Math.max(total, this.#read), label });
    }
    await this.#sender.flush();
    const added = this.#options.dryRun ? this.#found : this.#sender.added;
    progress.finish(
      `${pluralize(added, 'document')} ${this.#options.dryRun ? 'to add' : 'added'}, ${this.#unchanged} unchanged, ${this.#skipped.length + this.#sender.rejected.length} skipped.`,
    );
    const rejected = new Set(this.#sender.rejected.map(({ path }) => path));
    return {
      added,
      unchanged: this.#unchanged,
      samples: this.#samples.filter(({ path }) => !rejected.has(path)),
      skipped: [...this.#skipped, ...this.#sender.rejected],
    };
  }

  async #import(item: ImportItem): Promise<void> {
    const { overwrite, dryRun } = this.#options;
    const { origin, path } = item;
    const existing = await this.#known.find(path);
    if (existing !== null) {
      if (isSame(existing, item)) {
        this.#unchanged += 1;
        this.#addSample(item);
        return;
      }
      if (!overwrite) {
        const reason = 'the collection has another document with this path; use --overwrite to replace it';
        this.#skipped.push({ origin, path, reason });
        return;
      }
    }
    if (dryRun) this.#found += 1;
    else await this.#send(item, existing !== null);
    this.#addSample(item);
  }

  /** Keeps the first document, the second, the fourth and so on, which spreads few samples over the whole source. */
  #addSample({ path, document }: ImportItem): void {
    const number = this.#read + 1;
    const sample = Number.isInteger(Math.log2(number)) ? toSample(path, document) : null;
    if (sample !== null) this.#samples.push(sample);
  }

  async #send(item: ImportItem, isReplacement: boolean): Promise<void> {
    const { origin, path, document, file, units, mayFail = false } = item;
    const overwrite = isReplacement || !this.#source.isSorted ? this.#options.overwrite : false;
    const add = (content: object, length: number) =>
      this.#sender.add({ origin, document: { ...document, content, overwrite }, units: length, mayFail });
    const content = document.content as Readonly<Record<string, unknown>>;
    if (file === null) return await add(content, units);
    if (file.size <= inlineFileBytesMax) {
      const parts: Uint8Array[] = [];
      for await (const part of file.read()) parts.push(part);
      const data = Buffer.concat(parts).toString('base64');
      return await add({ ...content, base64_data: data }, units + data.length);
    }
    const isParsed = content.type === 'parsed';
    const wait = this.#options.wait && !isParsed;
    const sha256 = await this.#upload({ origin, path, document, file }, wait);
    if (sha256 === null) return;
    if (!isParsed) {
      this.#sender.added += 1;
      return;
    }
    const filled = { ...document, content: { ...content, sha256 }, overwrite: true };
    await this.#sender.add({ origin, document: filled, units });
  }

  /** Uploads a large file. Resolves to its SHA-256; null when it was rejected. */
  async #upload(
    {
      origin,
      path,
      document,
      file,
    }: Pick<ImportItem, 'origin' | 'path' | 'document'> & {
      readonly file: NonNullable<ImportItem['file']>;
    },
    wait: boolean,
  ): Promise<string | null> {
    const { api, clock, signal } = this.#context;
    const folder = await mkdtemp(join(tmpdir(), 'quarry-import-'));
    try {
      const absolute = join(folder, 'file');
      await pipeline(Readable.from(file.read()), createWriteStream(absolute), { signal });
      const uploader = new Uploader(api, clock, this.#options.collection);
      const metadata = (document.metadata ?? {}) as DocumentMetadataJson;
      const local = { absolute, path, sizeBytes: file.size };
      const outcome = await uploader.upload({ file: local, metadata, wait });
      if (outcome.kind !== 'refused') return (await findRequired(this.#context, this.#options, path)).sha256!;
      this.#skipped.push({ origin, path, reason: outcome.reason });
      return null;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

interface KnownDocuments {
  /** Returns the document of the collection with this path; null if there is none. */
  find(path: string): Promise<ListedDocument | null>;
}

/** Documents of a collection, read once while paths are looked up in ascending order. */
class ListedDocuments implements KnownDocuments {
  readonly #listed: AsyncGenerator<ListedDocument>;
  #next: Promise<IteratorResult<ListedDocument>> | null = null;

  constructor({ api }: CommandContext, collection: string) {
    this.#listed = listDocuments(api, { collection });
  }

  async find(path: string): Promise<ListedDocument | null> {
    for (;;) {
      this.#next ??= this.#listed.next();
      const { value, done } = await this.#next;
      if (done === true) return null;
      const order = Buffer.compare(Buffer.from(value.path), Buffer.from(path));
      if (order > 0) return null;
      this.#next = null;
      if (order === 0) return value;
    }
  }
}

async function findDocument(
  { api }: CommandContext,
  collection: string,
  path: string,
): Promise<ListedDocument | null> {
  try {
    const request = { collection_name: collection, path };
    const { document } = await api.call<GetDocumentInfoResponse>('documents/get-document-info', request);
    return { ...document, created_at: '' };
  } catch (error) {
    if (error instanceof ApiResponseError && error.status === 404) return null;
    throw error;
  }
}

async function findRequired(
  context: CommandContext,
  { collection }: ImportOptions,
  path: string,
): Promise<ListedDocument> {
  const found = await findDocument(context, collection, path);
  if (found !== null) return found;
  throw new AppError('not_found', `${JSON.stringify(path)} was deleted during the import.`);
}

function isSame(existing: ListedDocument, { sha256, document }: ImportItem): boolean {
  const isSameContent = sha256 !== null && existing.sha256 === sha256;
  return isSameContent && isDeepStrictEqual(existing.metadata, document.metadata ?? {});
}
