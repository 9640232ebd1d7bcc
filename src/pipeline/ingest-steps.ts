import { present } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { AnalysedChunk, ChunkTask, ChunkTaskResult } from '../chunking/chunk-task.ts';
import type { ParseLimits } from '../parsing/limits.ts';
import type { ParseFailureData } from '../parsing/parse-failure.ts';
import type { DocumentKind, ParseOutcome, ParseTask } from '../parsing/parse-task.ts';
import type { Blobs } from '../store/blobs.ts';
import type { Contents, IndexBlock, Layout } from '../store/content.ts';
import type { DocumentRecord } from '../store/documents.ts';
import type { Versions } from '../store/versions.ts';
import type { ChunkedContent, ParsedText } from './document-progress.ts';
import type { Indexes } from './indexes.ts';
import type { ModelRunner } from './model-runner.ts';
import { callParser } from './parser-call.ts';
import type { Pool } from './pools.ts';

export type StepFailure = ParseFailureData;

export interface IngestStepsOptions {
  readonly pools: { readonly parse: Pick<Pool, 'run'>; readonly chunk: Pick<Pool, 'run'> };
  readonly models: Pick<ModelRunner, 'embed'>;
  /** Model whose vectors the index holds. */
  readonly model: string;
  readonly blobs: Blobs;
  /** Folder of the raw files. */
  readonly blobsFolder: string;
  readonly contents: Contents;
  readonly versions: Versions;
  readonly indexes: Indexes;
  readonly parseLimits: Partial<ParseLimits>;
  /** Whether pages of such a document can be drawn. */
  readonly hasPageImages: (kind: DocumentKind) => boolean;
  /** 8-bit codes of rows of vectors. */
  readonly quantise: (vectors: Float32Array, dimensions: number) => Uint8Array;
  readonly clock: Clock;
}

/**
 * Chunks that are embedded in one go. It bounds the memory of a very long document, and its tasks in the pool that
 * queries share.
 */
const embedTextsMax = { coarse: 512, precise: 2_048 };

/** The work of each step, in the pools; it reads the store and changes nothing in it. */
export class IngestSteps {
  readonly #options: IngestStepsOptions;

  constructor(options: IngestStepsOptions) {
    this.#options = options;
  }

  /** Reads the raw file of a document in an isolated process. */
  async parse(
    record: DocumentRecord,
    signal: AbortSignal,
  ): Promise<ParsedText | { readonly failure: StepFailure }> {
    const { pools, blobs, blobsFolder, parseLimits, hasPageImages, clock } = this.#options;
    const started = clock.monotonic();
    const task: ParseTask = {
      kind: 'parse',
      file: blobs.path(record.rawHash),
      folder: blobsFolder,
      path: record.path,
      limits: parseLimits,
    };
    const outcome = await callParser<ParseOutcome>(pools.parse, task, { signal });
    signal.throwIfAborted();
    if ('failure' in outcome) return outcome;
    const { pages, kind, ...facts } = outcome;
    return {
      pages,
      head: { ...facts, kind, pageCount: pages.length },
      hasImages: hasPageImages(kind),
      timeTakenMs: clock.monotonic() - started,
    };
  }

  /** False when an earlier attempt has stored chunks and vectors already. */
  needsChunks(record: DocumentRecord): boolean {
    return this.#options.contents.parsedHead(record.documentId) !== undefined;
  }

  /** Cuts the stored pages into chunks and embeds them at both granularities. */
  async chunk(record: DocumentRecord, signal: AbortSignal): Promise<ChunkedContent> {
    const { pools, contents, clock } = this.#options;
    const started = clock.monotonic();
    const head = present(contents.parsedHead(record.documentId), 'a document is parsed before it is chunked');
    // An attempt that a crash ended may have left more pages than the one that succeeded.
    const pages = (await contents.parsedPages(record.documentId)).slice(0, head.pageCount);
    const task: ChunkTask = {
      pages,
      unordered: head.unordered,
      title: head.title,
      path: record.path,
      headings: head.headings,
      language: head.language,
    };
    const { chunks, pageStarts, length, terms, tokens } = await pools.chunk.run<ChunkTaskResult>(task);
    signal.throwIfAborted();
    const coarse = await this.#embedCoarse(chunks, signal);
    const precise = await this.#embedPrecise(chunks, signal);
    const layout: Layout = {
      length,
      textBytes: record.textBytes,
      unordered: head.unordered,
      title: head.title,
      language: head.language,
      pageStarts: Uint32Array.from(pageStarts),
      pageLengths: Uint32Array.from(pages, codePoints),
      chunkStarts: Uint32Array.from(chunks, (chunk) => chunk.start),
    };
    return {
      chunks,
      codes: precise.codes,
      layout,
      block: { ...coarse.block, terms },
      languages: [...new Set(chunks.flatMap(({ language }) => language ?? []))],
      tokens: { content: tokens, embedding: coarse.tokens + precise.tokens },
      timeTakenMs: clock.monotonic() - started,
    };
  }

  /** Puts the rows of the document's version into its shard; nobody sees them yet. */
  stage(record: DocumentRecord): Promise<void> {
    return this.#options.indexes.stage(record.collectionId, record.version);
  }

  unstage(record: DocumentRecord): void {
    const version = this.#options.versions.get(record.collectionId, record.version);
    if (version === undefined) return;
    this.#options.indexes.discard(record.collectionId, version.shard, record.version);
  }

  async #embedCoarse(
    chunks: readonly AnalysedChunk[],
    signal: AbortSignal,
  ): Promise<{ block: Omit<IndexBlock, 'terms'>; tokens: number }> {
    const { models, model } = this.#options;
    const chunkOfRow = Uint32Array.from(chunks.flatMap((chunk, i) => (chunk.blank ? [] : [i])));
    let vectors = new Float32Array(0);
    let dimensions = 0;
    let tokens = 0;
    for (let row = 0; row < chunkOfRow.length; row += embedTextsMax.coarse) {
      signal.throwIfAborted();
      const texts = Array.from(chunkOfRow.subarray(row, row + embedTextsMax.coarse), (i) => {
        const { prefix, text } = chunks[i]!;
        return `${prefix}\n\n${text}`;
      });
      const run = await models.embed(texts, 'document', { priority: 'ingest', model });
      dimensions = run.dimensions;
      if (row === 0) vectors = new Float32Array(chunkOfRow.length * dimensions);
      vectors.set(run.vectors, row * dimensions);
      tokens += run.tokens;
    }
    return { block: { rowCount: chunkOfRow.length, dimensions, model, vectors, chunkOfRow }, tokens };
  }

  /** Codes of the precise chunks, per coarse chunk; one that is not searched has none. */
  async #embedPrecise(
    chunks: readonly AnalysedChunk[],
    signal: AbortSignal,
  ): Promise<{ codes: (Uint8Array | undefined)[]; tokens: number }> {
    const { models, model, quantise } = this.#options;
    const codes: (Uint8Array | undefined)[] = [];
    let tokens = 0;
    for (const group of groups(chunks, embedTextsMax.precise)) {
      signal.throwIfAborted();
      const texts = group.flatMap((chunk) =>
        chunk.blank ? [] : chunk.children.map(({ start, end }) => chunk.text.slice(start, end)),
      );
      const run = await models.embed(texts, 'document', { priority: 'ingest', model });
      tokens += run.tokens;
      let row = 0;
      for (const chunk of group) {
        const count = chunk.blank ? 0 : chunk.children.length;
        const vectors = run.vectors.subarray(row * run.dimensions, (row + count) * run.dimensions);
        codes.push(count === 0 ? undefined : quantise(vectors, run.dimensions));
        row += count;
      }
    }
    return { codes, tokens };
  }
}

/** Consecutive chunks with at most `childrenMax` children together, or a single chunk. */
function groups(chunks: readonly AnalysedChunk[], childrenMax: number): AnalysedChunk[][] {
  const found: AnalysedChunk[][] = [];
  let children = Number.POSITIVE_INFINITY;
  for (const chunk of chunks) {
    if (children + chunk.children.length > childrenMax) {
      found.push([]);
      children = 0;
    }
    found.at(-1)!.push(chunk);
    children += chunk.children.length;
  }
  return found;
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
