import type { Language } from '../text/languages.ts';
import { findWordMatches } from '../text/query.ts';
import type { Candidate } from './candidates.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { RankedItem } from './rerank.ts';
import type { HitOrigin } from './search-result.ts';

/** Text of a hit with its language; matched words are searched in it. */
export interface MatchedText {
  readonly text: string;
  readonly language: string | null;
}

/** Placeholder for the text of a hit without `explain`. */
export const noText: MatchedText = { text: '', language: null };

/** Returns the scores and matches that explain a hit. */
export function toHitOrigin(
  { request, lexicalQuery, vector }: PreparedQuery,
  { fused, rerank }: Pick<RankedItem<unknown>, 'fused' | 'rerank'>,
  { lexical, similarity, proximity }: Pick<Candidate, 'lexical' | 'similarity' | 'proximity'>,
  { text, language }: MatchedText,
): HitOrigin {
  return {
    lexical,
    similarity: vector === null ? null : similarity,
    fused,
    rerank,
    matches: request.explain ? findWordMatches(lexicalQuery, text, language as Language | null) : [],
    proximity: proximity ?? null,
  };
}
