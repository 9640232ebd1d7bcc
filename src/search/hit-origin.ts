import type { StoredChunk } from '../storage/chunks.ts';
import type { Language } from '../text/languages.ts';
import { findWordMatches, type LexicalQuery } from '../text/query.ts';
import type { Candidate } from './candidates.ts';
import { toModelText } from './chunk-hits.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { RankedItem } from './rerank.ts';
import type { HitLocation, HitOrigin } from './search-result.ts';

/** Text of a hit with its language; matched words are searched in it. */
export interface MatchedText {
  readonly text: string;
  readonly language: string | null;
  /** Returns the text that a reranker reads. */
  readonly modelText: () => string;
}

/** Placeholder for the text of a hit without `explain`. */
export const noText: MatchedText = { text: '', language: null, modelText: () => '' };

/** Returns the text of a coarse chunk; a reranker also reads its title and headings. */
export function toMatchedText(chunk: StoredChunk): MatchedText {
  const { text, language } = chunk;
  return { text, language, modelText: () => toModelText({ chunk }) };
}

/** Returns the scores and matches that explain a hit. */
export function toHitOrigin(
  { request, lexicalQuery, highlightedWords, vector }: PreparedQuery,
  { fused, rerank }: Pick<RankedItem<unknown>, 'fused' | 'rerank'>,
  scores: Pick<Candidate, 'version' | 'row' | 'lexical' | 'similarity' | 'proximity'> &
    Partial<Pick<HitLocation, 'fineChunk'>>,
  { text, language, modelText }: MatchedText,
): HitOrigin {
  const { version, row, fineChunk = null, lexical, similarity, proximity } = scores;
  const findMatches = (words: LexicalQuery, searched: string) =>
    findWordMatches(words, searched, language as Language | null);
  return {
    location: { version, row, fineChunk },
    lexical,
    similarity: vector === null ? null : similarity,
    fused,
    rerank,
    matches: request.explain ? findMatches(lexicalQuery, text) : [],
    matchesIn: (searched) => highlightedWords.flatMap((words) => findMatches(words, searched)),
    proximity: proximity ?? null,
    modelText,
    relevance: null,
  };
}
