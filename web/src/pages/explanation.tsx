import type { ResultExplanation } from '../../../src/schemas/queries.ts';
import { formatCount, formatScore } from '../format/numbers.ts';
import { texts } from '../texts/en/results.ts';
import { fill } from '../texts/format-text.ts';
import { rich } from '../texts/rich-text.ts';

/** Rank of each result by its BM25 score, from 1; null without a score. BM25 scores have no fixed range. */
export function rankByLexicalScore(
  results: readonly { readonly explain?: ResultExplanation }[],
): readonly (number | null)[] {
  const scores = results.map(({ explain }) => explain?.lexical.score ?? null);
  return scores.map((score) =>
    score === null ? null : 1 + scores.filter((other) => other !== null && other > score).length,
  );
}

interface ExplanationProps {
  /** Score within the query, 0 to 1. */
  readonly score: number;
  readonly explain: ResultExplanation;
  /** Rank of the result by its BM25 score, from 1; null without one. */
  readonly lexicalRank: number | null;
  readonly resultCount: number;
}

/** Explains how a result was found: scores of words, meaning and reranker, with bars for those from 0 to 1. */
export function Explanation({ score, explain, lexicalRank, resultCount }: ExplanationProps) {
  const { lexical, vector, fused, rerank, relevance, look: proximity } = explain;
  const rows: readonly (readonly [string, number | null])[] = [
    [texts.matchStrength, relevance],
    [texts.vectorCosine, vector.similarity],
    [texts.combined, fused],
    [texts.reranker, rerank],
    [texts.earlyMatch, proximity?.lead ?? null],
    [texts.wordOrder, proximity?.order ?? null],
    [texts.proximity, proximity?.nearness ?? null],
    // The field `score` of the reply: its scale differs between queries.
    [texts.scoreOfTheReply, score === fused ? null : score],
  ];
  return (
    <div class="explanation">
      <table>
        <caption class="visually-hidden">{texts.scoreDetails}</caption>
        <tbody>
          {lexical.score !== null && (
            <tr>
              <th scope="row">{texts.keywordBm25}</th>
              <td class="hint">
                {lexicalRank !== null &&
                  fill(texts.rankOfCount, {
                    rank: formatCount(lexicalRank),
                    count: formatCount(resultCount),
                  })}
              </td>
              <td class="number">{formatScore(lexical.score)}</td>
            </tr>
          )}
          {rows.map(([name, value]) =>
            value === null ? null : (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="track">
                  <span style={{ width: `${Math.round(Math.max(0, Math.min(1, value)) * 100)}%` }} />
                </td>
                <td class="number">{formatScore(value)}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
      {lexical.terms.length > 0 && (
        <p class="hint">
          {rich(texts.matchingIndexTermsTerms, {
            terms: lexical.terms.map((term) => <code key={term}>{term} </code>),
          })}
        </p>
      )}
    </div>
  );
}
