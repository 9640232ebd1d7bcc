import type { VersionReader } from '../store/version-reader.ts';
import type { Language } from '../text/languages.ts';
import { type AnalysedQuery, matchedWords } from '../text/query.ts';
import { fuse, type Weights } from './fuse.ts';
import type { Passage } from './passages.ts';

/** One precise chunk of a passage, with its own score. */
export interface Child {
  readonly passage: Passage;
  /** Its number among the passage's precise chunks. */
  readonly index: number;
  /** BM25-like weight of the query words it holds. */
  readonly lexical: number;
  readonly similarity: number;
  /** 0..1: its own words and meaning, joined with those of the passage around it. */
  readonly score: number;
}

/** A query as passages are compared with it. */
export interface ComparedQuery {
  /** Null: words alone decide. */
  readonly vector: Float32Array | null;
  readonly analysed: AnalysedQuery;
  readonly weights: Weights;
}

export interface ChildSource {
  readonly reader: VersionReader;
  /** Cosine of a query vector with each of the 8-bit vectors that ingest stored. */
  readonly similarities: (query: Float32Array, codes: Uint8Array) => Float32Array;
}

/** How much the passage around a precise chunk says about it. */
const passageShare = 0.35;

/**
 * Scores the precise chunks of passages. Words are weighted by how rare they are among all these chunks, since the
 * shards keep statistics of coarse chunks only; vectors are the 8-bit codes made at ingest.
 */
export function scoreChildren(
  passages: readonly Passage[],
  query: ComparedQuery,
  { reader, similarities }: ChildSource,
): Child[] {
  const { vector } = query;
  const codes = reader.codes(passages);
  const found = passages.flatMap((passage, p) => {
    const records = codes[p];
    if (records === undefined) return [];
    const similarity = vector === null ? null : similarities(vector, records);
    const language = passage.chunk.language as Language | null;
    return passage.chunk.children.flatMap(({ start, end }, index) => {
      const text = passage.chunk.text.slice(start, end);
      if (text.trim() === '') return [];
      return [
        {
          passage,
          index,
          similarity: similarity?.[index] ?? 0,
          words: matchedWords(query.analysed, text, language),
        },
      ];
    });
  });
  const rarity = wordRarity(found.map(({ words }) => words));
  const lexical = Float32Array.from(found, ({ words }) =>
    words.reduce((sum, word) => sum + rarity.get(word)!, 0),
  );
  const fused = fuse(
    lexical,
    vector === null ? null : Float32Array.from(found, ({ similarity }) => similarity),
    query.weights,
  );
  return found.map(({ passage, index, similarity }, i) => ({
    passage,
    index,
    similarity,
    lexical: lexical[i]!,
    score: (1 - passageShare) * fused[i]! + passageShare * passage.candidate.fused,
  }));
}

/** Inverse document frequency of each word over the lists it stands in. */
function wordRarity(lists: readonly (readonly string[])[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const list of lists) for (const word of list) counts.set(word, (counts.get(word) ?? 0) + 1);
  return new Map(
    [...counts].map(([word, count]) => [word, Math.log(1 + (lists.length - count + 0.5) / (count + 0.5))]),
  );
}
