import type { ResultExplanation } from '../../../src/schemas/queries.ts';
import { formatScore } from '../format/numbers.ts';
import { texts } from '../texts/en/results.ts';
import { rich } from '../texts/rich-text.ts';

/** Largest BM25 score of all results, used as the scale: BM25 scores have no fixed range. */
export function maxLexicalScore(results: readonly { readonly explain?: ResultExplanation }[]): number {
  return Math.max(0.001, ...results.map(({ explain }) => explain?.lexical.score ?? 0));
}

interface ExplanationProps {
  /** Score within the query, 0 to 1. */
  readonly score: number;
  readonly explain: ResultExplanation;
  readonly highest: number;
}

/** Explains how a result was found: scores of words, meaning and reranker, as bars. */
export function Explanation({ score, explain, highest }: ExplanationProps) {
  const { lexical, vector, fused, rerank, relevance, look: proximity } = explain;
  const rows = [
    [texts.matchStrength, relevance, relevance],
    [texts.keywordBm25, lexical.score, lexical.score / highest],
    [texts.vectorCosine, vector.similarity, vector.similarity],
    [texts.combined, fused, fused],
    [texts.reranker, rerank, rerank],
    [texts.earlyMatch, proximity?.lead ?? null, proximity?.lead ?? null],
    [texts.wordOrder, proximity?.order ?? null, proximity?.order ?? null],
    [texts.proximity, proximity?.nearness ?? null, proximity?.nearness ?? null],
    // The field `score` of the reply: its scale differs between queries.
    [texts.scoreOfTheReply, score, score],
  ] as const;
  return (
    <div class="explanation">
      <table>
        <caption class="visually-hidden">{texts.scoreDetails}</caption>
        <tbody>
          {rows.map(([name, value, share]) =>
            value === null || share === null ? null : (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="track">
                  <span style={{ width: `${Math.round(Math.max(0, Math.min(1, share)) * 100)}%` }} />
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
