import { createCodePointCounter } from '../core/code-point-counter.ts';
import { findWords } from '../core/excerpt.ts';
import { queryLimits } from '../core/query-limits.ts';
import type { HitOrigin } from './search-result.ts';

/** Start and end (exclusive) of a matched word, in code points. */
export type Highlight = readonly [start: number, end: number];

/**
 * Returns the ranges of the words of a text that match the query of a hit, in order, at most `highlightsMax`. Only the
 * first `highlightedUnitsMax` UTF-16 units of the text are examined.
 */
export function findHighlights(text: string, { matchesIn }: Pick<HitOrigin, 'matchesIn'>): Highlight[] {
  const isCut = text.length > queryLimits.highlightedUnitsMax;
  const examined = isCut ? text.slice(0, queryLimits.highlightedUnitsMax) : text;
  const words = matchesIn(examined).flatMap((match) => match.words);
  const found = findWords(examined, words);
  // A word at the cut may be the start of another word.
  const whole = isCut ? found.filter(({ end }) => end < examined.length) : found;
  const toCodePoint = createCodePointCounter(examined);
  return whole
    .slice(0, queryLimits.highlightsMax)
    .map(({ start, end }) => [toCodePoint(start), toCodePoint(end)] as const);
}
