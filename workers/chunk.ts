import { chunkDocument } from '../src/chunking/chunk-document.ts';
import type { ChunkTask, ChunkTaskResult } from '../src/chunking/chunk-task.ts';
import { analyseChunks } from '../src/text/terms.ts';

/** Cuts a document into chunks and analyses the words of those that hold any. */
export default function chunk(task: ChunkTask): ChunkTaskResult {
  const document = chunkDocument(task);
  const rows = document.chunks.filter((entry) => !entry.blank);
  const analysed = analyseChunks(rows, task.language);
  const languages = new Map(rows.map((entry, row) => [entry, analysed.languages[row] ?? null]));
  return {
    chunks: document.chunks.map((entry) => ({ ...entry, language: languages.get(entry) ?? null })),
    pageStarts: document.pageStarts,
    length: document.length,
    terms: analysed.block,
    tokens: analysed.tokens,
  };
}
