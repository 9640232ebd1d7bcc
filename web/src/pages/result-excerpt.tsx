import { useState } from 'preact/hooks';
import { findBestSentence, findWords, type TextSpan } from '../../../src/core/excerpt.ts';
import { goodMatchMin } from '../../../src/core/good-match.ts';
import type { ResultExplanation } from '../../../src/schemas/queries.ts';
import { formatScore } from '../format/numbers.ts';
import { texts } from '../texts/en/results.ts';
import { fill } from '../texts/format-text.ts';
import { HighlightedText } from './highlighted-text.tsx';
import { toUnits } from './passage.ts';

/** Parts of a result that the list and the comparison share. */

/** Match strength is comparable between queries. It is measured for the first results only. */
export function MatchStrength({ relevance }: { readonly relevance: number | null }) {
  if (relevance === null) return null;
  return (
    <span
      class="match-strength"
      title={fill(texts.matchStrengthRelevanceOf1, { relevance: formatScore(relevance) })}
    >
      <span class="level" aria-hidden="true">
        <span style={{ width: `${Math.round(relevance * 100)}%` }} />
      </span>
      {relevance >= goodMatchMin ? texts.goodMatch : texts.weakMatch}
    </span>
  );
}

type Highlights = readonly (readonly number[])[] | undefined;

interface ExcerptProps {
  readonly text: string;
  readonly explain: ResultExplanation | undefined;
  /** Ranges to mark, in code points; undefined to mark the words of `explain`. */
  readonly highlights?: Highlights;
  /** Length before it is expanded, in UTF-16 units. */
  readonly unitsMax: number;
}

/** Text of a result. A long one starts at its best sentence until it is expanded. */
export function Excerpt({ text, explain, highlights, unitsMax }: ExcerptProps) {
  const [isExpanded, setExpanded] = useState(false);
  const wordsOfTerms = explain?.lexical.words ?? [];
  const marks = highlights === undefined ? findWords(text, wordsOfTerms.flat()) : toSpans(text, highlights);
  const isLong = text.length > unitsMax + 100;
  const best = findBestSentence(text, wordsOfTerms) ?? { start: 0, end: 0 };
  const first = isLong && !isExpanded ? best.start : 0;
  const last = isLong && !isExpanded ? Math.min(text.length, first + unitsMax) : text.length;
  return (
    <>
      <p class="excerpt">
        {first > 0 && '… '}
        <HighlightedText text={text} start={first} end={best.start} marks={marks} />
        {best.end > best.start && (
          <span class="best-sentence">
            <HighlightedText text={text} start={best.start} end={best.end} marks={marks} />
          </span>
        )}
        <HighlightedText text={text} start={best.end} end={last} marks={marks} />
        {last < text.length && '…'}
      </p>
      {isLong && (
        <button
          type="button"
          class="text-button"
          aria-expanded={isExpanded}
          onClick={() => setExpanded(!isExpanded)}
        >
          {isExpanded ? texts.showLess : texts.showAll}
        </button>
      )}
    </>
  );
}

/** Converts ranges in code points to UTF-16 units. */
function toSpans(text: string, highlights: NonNullable<Highlights>): TextSpan[] {
  return highlights.map(([start = 0, end = 0]) => ({ start: toUnits(text, start), end: toUnits(text, end) }));
}
