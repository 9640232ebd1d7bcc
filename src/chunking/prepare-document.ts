import { unpackTexts } from '../core/packed-texts.ts';
import { type CoarseChunk, chunkDocument } from './chunk-document.ts';
import type { ChunkTask, ChunkTaskResult } from './chunk-task.ts';

/** Processing of cut chunks, injected because the implementations live in other modules. */
export interface ChunkProcessors {
  /** Components of a vector; 0 when another component embeds. */
  readonly dimensions: number;
  /**
   * Returns the terms of chunks as a TermBlock, those of their fine chunks, and their languages. Implemented by
   * `analyzeChunks`.
   */
  analyze(
    chunks: readonly CoarseChunk[],
    language: string | null,
  ): {
    readonly block: Uint8Array;
    readonly fineTerms: Uint8Array;
    readonly languages: readonly (string | null)[];
    readonly tokens: number;
  };
  /**
   * Returns vectors of chunks and codes of their fine chunks. Implemented by `embedChunks`. Errors: rethrows
   * an error of `onStep`.
   */
  embed(
    chunks: readonly CoarseChunk[],
    onStep: () => void,
  ): Promise<{ readonly vectors: Float32Array; readonly codes: Uint8Array; readonly tokens: number }>;
}

/** Cuts a document into chunks, analyzes the words of the non-blank ones, and embeds them. */
export async function prepareDocument(
  task: ChunkTask,
  processors: ChunkProcessors,
): Promise<ChunkTaskResult> {
  const { chunks, pageStarts, length } = chunkDocument({ ...task, pages: unpackTexts(task.pages) });
  const rows = chunks.filter((entry) => !entry.blank);
  const analysis = processors.analyze(rows, task.language);
  const languages = new Map(rows.map((entry, row) => [entry, analysis.languages[row] ?? null]));
  const embeddings = await processors.embed(rows, () => {
    if (task.cancelFlag !== null && Atomics.load(task.cancelFlag, 0) !== 0)
      throw new Error('document processing was canceled');
  });
  return {
    chunks: chunks.map((entry) => ({
      ...entry,
      language: languages.get(entry) ?? null,
      children: entry.children.length,
    })),
    pageStarts,
    length,
    terms: analysis.block,
    fineTerms: analysis.fineTerms,
    tokens: { content: analysis.tokens, embedding: embeddings.tokens },
    spans: flattenSpans(chunks),
    dimensions: processors.dimensions,
    vectors: embeddings.vectors,
    codes: embeddings.codes,
  };
}

function flattenSpans(chunks: readonly CoarseChunk[]): Uint32Array {
  const spans = new Uint32Array(4 * chunks.reduce((sum, { children }) => sum + children.length, 0));
  let at = 0;
  for (const { children } of chunks) {
    for (const { start, end, startCodePoint, endCodePoint } of children) {
      spans[at] = start;
      spans[at + 1] = end;
      spans[at + 2] = startCodePoint;
      spans[at + 3] = endCodePoint;
      at += 4;
    }
  }
  return spans;
}
