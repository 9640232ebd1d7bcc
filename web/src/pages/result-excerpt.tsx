import { useMemo, useState } from 'preact/hooks';
import { findBestSentence, findWords, type TextSpan } from '../../../src/core/excerpt.ts';
import { textSyntaxOf } from '../../../src/core/file-types.ts';
import { goodMatchMin } from '../../../src/core/good-match.ts';
import type { ResultExplanation } from '../../../src/schemas/queries.ts';
import { isNarrow } from '../browser/media.ts';
import { formatScore } from '../format/numbers.ts';
import { texts } from '../texts/en/results.ts';
import { fill } from '../texts/format-text.ts';
import { excerptRange } from './excerpt-range.ts';
import { PageText } from './page-text.tsx';
import { toUnits } from './passage.ts';

/** Parts of a result that the list and the comparison share. */

/** Relevance from which a match is called strong: the upper half of the good ones. */
const strongMatchMin = (1 + goodMatchMin) / 2;

function strengthName(relevance: number): string {
  if (relevance >= strongMatchMin) return texts.strongMatch;
  return relevance >= goodMatchMin ? texts.goodMatch : texts.weakMatch;
}

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
      {strengthName(relevance)} <span class="number">{formatScore(relevance)}</span>
    </span>
  );
}

type Highlights = readonly (readonly number[])[] | undefined;

interface ExcerptProps {
  /** Path of the document, which has the syntax of the text. */
  readonly path: string;
  readonly text: string;
  readonly explain: ResultExplanation | undefined;
  /** Ranges to mark, in code points; undefined to mark the words of `explain`. */
  readonly highlights?: Highlights;
  /** Lines before it is expanded. */
  readonly linesMax: number;
}

/** Units of a line of a result on the screen. */
const lineUnits = { narrow: 34, wide: 75 };

/** Text of a result, as the document page shows it. A long one is cut around its best sentence until it is expanded. */
export function Excerpt({ path, text, explain, highlights, linesMax }: ExcerptProps) {
  const [isExpanded, setExpanded] = useState(false);
  const syntax = textSyntaxOf(path);
  const size = isNarrow.value ? lineUnits.narrow : lineUnits.wide;
  const { marks, range } = useMemo(() => {
    const wordsOfTerms = explain?.lexical.words ?? [];
    const best = findBestSentence(text, wordsOfTerms);
    const inner = highlights === undefined ? findWords(text, wordsOfTerms.flat()) : toSpans(text, highlights);
    return {
      marks: { outer: best, outerClass: 'best-sentence', inner, innerProps: {} },
      range: excerptRange(text, syntax, {
        focus: best === null ? 0 : focusOf(best, inner, size),
        linesMax,
        lineUnits: size,
      }),
    };
  }, [text, explain, highlights, syntax, linesMax, size]);
  const isLong = range.start > 0 || range.end < text.length;
  return (
    <>
      <div class="excerpt text-blocks">
        <PageText
          text={text}
          syntax={syntax}
          marks={marks}
          hasHeadings={false}
          {...(isExpanded ? {} : { shown: range })}
        />
      </div>
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

/** Start of the best sentence; of its first match if that is several lines later, such as in a table or a list. */
function focusOf(best: TextSpan, marks: readonly TextSpan[], size: number): number {
  const match = marks.find(({ start, end }) => start >= best.start && end <= best.end);
  return match !== undefined && match.start - best.start > 2 * size ? match.start : best.start;
}

/** Converts ranges in code points to UTF-16 units. */
function toSpans(text: string, highlights: NonNullable<Highlights>): TextSpan[] {
  return highlights.map(([start = 0, end = 0]) => ({ start: toUnits(text, start), end: toUnits(text, end) }));
}
