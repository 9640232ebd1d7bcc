import type { ChunkTask, ChunkTaskResult } from '../chunking/chunk-task.ts';
import { encodeParts, firstFineTerms, numbersPerSpan, storedParts } from '../chunking/store-chunks.ts';
import { assertDefined } from '../core/assert.ts';
import type { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import { countTexts, type Texts } from '../core/packed-texts.ts';
import type { Trace } from '../core/trace.ts';
import type { Indexes } from '../index/indexes.ts';
import type { ChunkEmbeddingInput, ChunkVectors } from '../models/model.ts';
import type { ParseLimits } from '../parsing/limits.ts';
import type { ParseFailureData } from '../parsing/parse-failure.ts';
import type { PackedParseOutcome, PageImageAvailability, ParseTask } from '../parsing/process/parse-task.ts';
import type { Blobs } from '../storage/blobs.ts';
import { encodeChunk, type Layout } from '../storage/chunks.ts';
import type { Contents } from '../storage/content.ts';
import type { DocumentRecord } from '../storage/documents.ts';
import type { IndexBlock } from '../storage/index-blocks.ts';
import type { ParsedHead } from '../storage/parsed-pages.ts';
import type { ChunkBatches } from './chunk-batches.ts';
import type { ChunkedContent } from './content-operations.ts';
import type { ParsedText } from './document-transitions.ts';
import { callParser, type ParserCallOptions } from './parser-call.ts';
import type { Pool } from './pools.ts';

export type StepFailure = ParseFailureData;

/** Computes vectors and codes from the vectors supplied per page; see `models/page-vectors`. */
type PageVectorSource = (
  chunks: ChunkTaskResult['chunks'],
  readPageVector: (page: number) => Float32Array,
  options: { readonly dimensions: number; readonly yieldToEventLoop: YieldToEventLoop },
) => Promise<Pick<ChunkVectors, 'vectors' | 'codes'>>;

/** Source of the vectors of documents in a collection. */
export interface DocumentModel {
  readonly id: string;
  readonly dimensions: number;
  /** Generation of the collection's vectors. */
  readonly generation: number;
  /**
   * Computes vectors of chunks and codes of their parts, as `models/chunk-vectors` does; or states where they
   * come from.
   */
  readonly embedChunks:
    | ((chunks: readonly ChunkEmbeddingInput[], onStep: () => void) => Promise<ChunkVectors>)
    | 'in-worker'
    | { readonly fromPages: PageVectorSource };
}

export interface IngestStepsOptions {
  readonly pools: { readonly parse: Pick<Pool, 'run'> };
  readonly chunker: Pick<ChunkBatches, 'run'>;
  /**
   * Returns the model of a collection's vectors. Throws `ModelUnavailableError` while the model is
   * unavailable.
   */
  readonly getModel: (collectionId: string) => DocumentModel;
  readonly blobs: Blobs;
  readonly contents: Contents;
  readonly indexes: Pick<Indexes, 'changes'>;
  /** Recomputes the vectors of a chunked document whose collection has changed its model since. */
  readonly renewVectors: (record: DocumentRecord, signal: AbortSignal) => Promise<void>;
  readonly parseLimits: Partial<ParseLimits>;
  /** Whether pages of such a document can be rendered. */
  readonly hasPageImages: (pageImages: PageImageAvailability) => boolean;
  readonly clock: Clock;
  readonly backgroundScheduler: Pick<BackgroundScheduler, 'slice'>;
}

/** Code points between two pages of the document text. */
const separatorLength = 2;

/**
 * Performs the work of each step in the worker pools; reads the store, but writes to it only to renew
 * vectors.
 */
export class IngestSteps {
  readonly #options: IngestStepsOptions;

  constructor(options: IngestStepsOptions) {
    this.#options = options;
  }

  /** Parses the raw file of a document in an isolated process. */
  async parse(
    record: DocumentRecord,
    organizationId: string,
    { signal, onProgress }: Required<Pick<ParserCallOptions, 'signal' | 'onProgress'>>,
  ): Promise<ParsedText | { readonly failure: StepFailure }> {
    const { pools, blobs, parseLimits, hasPageImages, clock } = this.#options;
    const started = clock.monotonic();
    const file = await blobs.use(record.rawHash);
    const task: ParseTask = {
      kind: 'parse',
      file: file.path,
      organizationId,
      path: record.path,
      limits: parseLimits,
    };
    const parsing = callParser<PackedParseOutcome>(pools.parse, task, { signal, onProgress });
    const outcome = await parsing.finally(() => file.release());
    signal.throwIfAborted();
    if ('failure' in outcome) return outcome;
    const { pages, lineBoxes, pageImages, ...info } = outcome;
    return {
      pages,
      ...(lineBoxes === undefined ? {} : { lineBoxes }),
      head: { ...info, pageCount: countTexts(pages) },
      hasImages: hasPageImages(pageImages),
      timeTakenMs: clock.monotonic() - started,
    };
  }

  /** False when an earlier attempt has already stored chunks and vectors. */
  needsChunks(record: DocumentRecord): boolean {
    return this.#options.contents.parsed.readHead(record.documentId) !== undefined;
  }

  /** Whether all derived content of a document fits into one write and is computed in one go. */
  isSmall({ textBytes, numPages }: Pick<DocumentRecord, 'textBytes' | 'numPages'>): boolean {
    return textBytes <= limits.smallTextBytesMax && numPages !== null && numPages <= limits.smallTextPagesMax;
  }

  /** Whether a document is small, and chunked and embedded by one call of a worker. */
  fitsBatch(record: Pick<DocumentRecord, 'collectionId' | 'textBytes' | 'numPages'>): boolean {
    return this.isSmall(record) && this.#options.getModel(record.collectionId).embedChunks === 'in-worker';
  }

  /** Splits the stored pages into chunks, analyzes them and embeds them at both granularities. */
  async chunk(
    record: DocumentRecord,
    signal: AbortSignal,
    trace: Trace | null = null,
  ): Promise<ChunkedContent> {
    // Checked first, to avoid work that would have to be repeated.
    const model = this.#options.getModel(record.collectionId);
    return this.#chunkParsed(record, { ...(await this.#readParsed(record)), model, signal, trace });
  }

  /**
   * Same for small documents of one collection, which are read at once and chunked in batches. Null for a
   * document that is not parsed, is chunked already, or whose chunking failed.
   */
  async chunkSmall(
    documents: readonly { readonly record: DocumentRecord; readonly signal: AbortSignal }[],
  ): Promise<(ChunkedContent | null)[]> {
    const { contents, getModel } = this.#options;
    const model = getModel(
      assertDefined(documents[0], 'at least one document is chunked').record.collectionId,
    );
    const parsed = contents.parsed.readDocuments(
      documents.map(({ record: { documentId, numPages } }) => ({ documentId, pageCount: numPages ?? 0 })),
    );
    return allChunked(
      documents.map(async ({ record, signal }, i) => {
        const found = parsed[i];
        return found === undefined
          ? null
          : this.#chunkParsed(record, { ...found, model, signal, trace: null });
      }),
    );
  }

  /** Same for texts of one collection that are not stored yet. */
  chunkTexts(
    documents: readonly {
      readonly record: DocumentRecord;
      readonly head: ParsedHead;
      readonly pages: Texts;
      readonly signal: AbortSignal;
    }[],
  ): Promise<(ChunkedContent | null)[]> {
    const { record } = assertDefined(documents[0], 'at least one document is chunked');
    const model = this.#options.getModel(record.collectionId);
    return allChunked(
      documents.map((document) =>
        this.#chunkParsed(document.record, { ...document, model, trace: null, keepsPages: true }),
      ),
    );
  }

  async #chunkParsed(
    record: DocumentRecord,
    {
      head,
      pages,
      model,
      signal,
      trace,
      keepsPages = false,
    }: {
      readonly head: ParsedHead;
      readonly pages: Texts;
      readonly model: DocumentModel;
      readonly signal: AbortSignal;
      readonly trace: Trace | null;
      readonly keepsPages?: boolean;
    },
  ): Promise<ChunkedContent> {
    const { chunker, clock } = this.#options;
    const stopFlag = this.isSmall(record)
      ? null
      : new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const onAbort = () => {
      if (stopFlag !== null) Atomics.store(stopFlag, 0, 1);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const task: ChunkTask = {
      pages,
      // A chunk has the vector of its page, so no chunk may span two pages.
      unordered: head.unordered || typeof model.embedChunks === 'object',
      title: head.title,
      path: record.path,
      headings: head.headings,
      language: head.language,
      model: model.embedChunks === 'in-worker' ? model.id : null,
      cancelFlag: stopFlag,
    };
    try {
      signal.throwIfAborted();
      const chunkStartedAt = clock.monotonic();
      const isIsolated = record.attempts > 0;
      const { result: chunked, ms } = await chunker.run(task, { signal, isIsolated, keepsPages });
      // The workers embed with the built-in models while they chunk.
      const isEmbedded = model.embedChunks === 'in-worker';
      trace?.addSpan('chunk', chunkStartedAt, { 'quarry.embeds': isEmbedded });
      const embedStartedAt = clock.monotonic();
      const yieldToEventLoop = this.#options.backgroundScheduler.slice();
      const result = await this.#withVectors(record, { chunked, model, signal, yieldToEventLoop });
      if (!isEmbedded) trace?.addSpan('embed', embedStartedAt);
      signal.throwIfAborted();
      return {
        ...(await toContent(result, model, yieldToEventLoop)),
        layout: toLayout(result, head, record),
        timeTakenMs: ms,
      };
    } catch (error) {
      // A canceled worker throws its own error; report the reason of the signal instead.
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Completes the result of a chunk worker with vectors that the worker did not compute. */
  async #withVectors(
    { documentId }: DocumentRecord,
    {
      chunked,
      model,
      signal,
      yieldToEventLoop,
    }: {
      readonly chunked: ChunkTaskResult;
      readonly model: DocumentModel;
      readonly signal: AbortSignal;
      readonly yieldToEventLoop: YieldToEventLoop;
    },
  ): Promise<ChunkTaskResult> {
    const { dimensions, embedChunks } = model;
    if (embedChunks === 'in-worker') return chunked;
    if (typeof embedChunks === 'object') {
      const { contents } = this.#options;
      const readPageVector = (page: number) => contents.parsed.readSuppliedVector(documentId, page);
      const options = { dimensions, yieldToEventLoop };
      return {
        ...chunked,
        dimensions,
        ...(await embedChunks.fromPages(chunked.chunks, readPageVector, options)),
      };
    }
    const rows = await toEmbeddedChunks(chunked, yieldToEventLoop);
    const { vectors, codes, tokens } = await embedChunks(rows, () => signal.throwIfAborted());
    return { ...chunked, dimensions, vectors, codes, tokens: { ...chunked.tokens, embedding: tokens } };
  }

  async #readParsed(record: DocumentRecord): Promise<{ readonly head: ParsedHead; readonly pages: Texts }> {
    const { contents, backgroundScheduler } = this.#options;
    const { documentId, numPages } = record;
    const invariant = 'a document is parsed before it is chunked';
    if (this.isSmall(record))
      return assertDefined(
        contents.parsed.readDocuments([{ documentId, pageCount: numPages ?? 0 }])[0],
        invariant,
      );
    const head = assertDefined(contents.parsed.readHead(documentId), invariant);
    // An attempt that ended with a crash may have left more pages than the successful one.
    return {
      head,
      pages: await contents.parsed.packPages(documentId, head.pageCount, backgroundScheduler.slice()),
    };
  }

  /**
   * Stages the rows of the document version in its shard, invisible to search. `block`: null when it is
   * stored.
   */
  async stage(record: DocumentRecord, block: IndexBlock | null, signal: AbortSignal): Promise<void> {
    if (block === null) await this.#options.renewVectors(record, signal);
    await this.#options.indexes.changes.stage(record, block, signal);
  }

  unstage(record: DocumentRecord): void {
    this.#options.indexes.changes.unstage(record);
  }
}

/** Returns null for a document whose chunking failed. */
async function allChunked(
  chunking: readonly Promise<ChunkedContent | null>[],
): Promise<(ChunkedContent | null)[]> {
  const outcomes = await Promise.allSettled(chunking);
  return outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : null));
}

/** Returns the chunks of a worker result to be embedded. */
async function toEmbeddedChunks(
  { chunks, spans }: ChunkTaskResult,
  yieldToEventLoop: YieldToEventLoop,
): Promise<ChunkEmbeddingInput[]> {
  const rows: ChunkEmbeddingInput[] = [];
  let span = 0;
  for (const { text, prefix, blank, children: count } of chunks) {
    const pause = yieldToEventLoop();
    if (pause !== null) await pause;
    const children = Array.from({ length: count }, (_, i) => ({
      start: spans[span + i * numbersPerSpan]!,
      end: spans[span + i * numbersPerSpan + 1]!,
    }));
    span += count * numbersPerSpan;
    if (!blank) rows.push({ text, prefix, children });
  }
  return rows;
}

/** Returns the content to be stored from a worker result. */
async function toContent(
  result: ChunkTaskResult,
  { id: model, generation }: DocumentModel,
  yieldToEventLoop: YieldToEventLoop,
): Promise<Omit<ChunkedContent, 'layout' | 'timeTakenMs'>> {
  const { vectors, dimensions, terms, tokens, stored } = result;
  const chunkOfRow = stored?.chunkOfRow ?? Uint32Array.from(rowsOf(result));
  const chunks: Uint8Array[] = [];
  const codes: (Uint8Array | undefined)[] = [];
  const fineTerms: (Uint8Array | undefined)[] = [];
  let code = 0;
  let fine = firstFineTerms(chunkOfRow.length);
  const parts = stored === undefined ? encodeParts(result, encodeChunk) : storedParts(stored);
  for (const { record, codesEnd, fineTermsEnd } of parts) {
    const pause = yieldToEventLoop();
    if (pause !== null) await pause;
    chunks.push(record);
    codes.push(codesEnd === code ? undefined : result.codes.subarray(code, codesEnd));
    // A block is never empty.
    fineTerms.push(fineTermsEnd === fine ? undefined : result.fineTerms.subarray(fine, fineTermsEnd));
    code = codesEnd;
    fine = fineTermsEnd;
  }
  return {
    chunks,
    codes,
    fineTerms,
    block: { rowCount: chunkOfRow.length, dimensions, model, generation, vectors, terms, chunkOfRow },
    languages: stored?.languages ?? [...new Set(result.chunks.flatMap(({ language }) => language ?? []))],
    fineChunks: result.spans.length / numbersPerSpan,
    tokens,
  };
}

function rowsOf({ chunks }: ChunkTaskResult): number[] {
  return chunks.flatMap(({ blank }, i) => (blank ? [] : i));
}

function toLayout(
  { chunks, stored, pageStarts, length }: ChunkTaskResult,
  { unordered, headings, title, language, warnings }: ParsedHead,
  { textBytes }: DocumentRecord,
): Layout {
  const pageLengths = new Uint32Array(pageStarts.length);
  for (const [i, start] of pageStarts.entries())
    pageLengths[i] = (pageStarts[i + 1] ?? length + separatorLength) - separatorLength - start;
  return {
    length,
    textBytes,
    unordered,
    headings,
    title,
    language,
    warnings,
    pageStarts: Uint32Array.from(pageStarts),
    pageLengths,
    chunkStarts: stored?.starts ?? Uint32Array.from(chunks, ({ start }) => start),
  };
}
