import type { ResultExplanation } from '../../../src/schemas/queries.ts';
import { formatScore } from '../format/numbers.ts';

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
    ['Match strength', relevance, relevance],
    ['Keyword (BM25)', lexical.score, lexical.score / highest],
    ['Vector (cosine)', vector.similarity, vector.similarity],
    ['Combined', fused, fused],
    ['Reranker', rerank, rerank],
    ['Early match', proximity?.lead ?? null, proximity?.lead ?? null],
    ['Word order', proximity?.order ?? null, proximity?.order ?? null],
    ['Proximity', proximity?.nearness ?? null, proximity?.nearness ?? null],
    // The field `score` of the reply: its scale differs between queries.
    ['Score of the reply', score, score],
  ] as const;
  return (
    <div class="explanation">
      <table>
        <caption class="visually-hidden">Score details</caption>
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
          Matching index terms:{' '}
          {lexical.terms.map((term) => (
            <code key={term}>{term} </code>
          ))}
        </p>
      )}
    </div>
  );
}
