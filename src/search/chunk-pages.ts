import type { StoredChunk } from '../storage/chunks.ts';
import type { Language } from '../text/languages.ts';
import { findMatchedWords, type LexicalQuery } from '../text/query.ts';
import type { ChunkHit } from './chunk-hits.ts';
import { scoreFineChunks } from './fine-chunks.ts';
import type { QueryOperators } from './operators.ts';
import { splitByPage } from './page-lookup.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { SearchComponents } from './search-components.ts';

/** Returns the pages of a chunk with their share of its score. */
export async function scorePages(
  source: Pick<SearchComponents, 'reader'>,
  query: PreparedQuery,
  chunkHit: ChunkHit,
): Promise<{ pageIndex: number; share: number }[]> {
  const { pageStart, pageEnd, children } = chunkHit.chunk;
  if (pageEnd - pageStart === 1) return [{ pageIndex: pageStart, share: 1 }];
  const starts = source.reader.readLayout(chunkHit.version)?.pageStarts;
  if (starts === undefined) return [];
  const best = new Map<number, number>();
  const scores = await scoreFineChunks(source, query, [chunkHit.candidate], 0);
  for (let i = 0; i < scores.length; i += 1) {
    const { index, score } = scores.at(i);
    for (const { page, share } of scorePagesOfFineChunk(
      query.lexicalQuery,
      chunkHit,
      children[index]!,
      starts,
    ))
      best.set(page, Math.max(best.get(page) ?? 0, score * share));
  }
  const highest = Math.max(...best.values(), Number.EPSILON);
  return [...best].map(([pageIndex, score]) => ({ pageIndex, share: score / highest }));
}

/**
 * On short pages one fine chunk spans several: the page with most of the matched words gets the highest
 * share.
 */
function scorePagesOfFineChunk(
  lexicalQuery: LexicalQuery,
  { chunk }: ChunkHit,
  fineChunk: StoredChunk['children'][number],
  starts: Uint32Array,
): { page: number; share: number }[] {
  const pieces = splitByPage(
    starts,
    chunk.text.slice(fineChunk.start, fineChunk.end),
    fineChunk.startCodePoint,
  );
  const language = chunk.language as Language | null;
  const weights = pieces.map(({ text }) => findMatchedWords(lexicalQuery, text, language).length);
  const highest = Math.max(...weights);
  return pieces.map(({ page }, i) => ({ page, share: (1 + weights[i]!) / (1 + highest) }));
}

/** Returns the pages of a chunk whose text the operators accept; all non-blank pages without operators. */
export function findAcceptedPages(
  { version, chunk }: ChunkHit,
  operators: QueryOperators | null,
  reader: SearchComponents['reader'],
): number[] {
  const { text, start, pageStart, pageEnd } = chunk;
  const isAccepted = (part: string) => operators === null || operators.accepts(part);
  if (pageEnd - pageStart === 1) return isAccepted(text) ? [pageStart] : [];
  const starts = reader.readLayout(version)?.pageStarts;
  if (starts === undefined) return [];
  return splitByPage(starts, text, start).flatMap((piece) =>
    piece.text.trim() !== '' && isAccepted(piece.text) ? [piece.page] : [],
  );
}
