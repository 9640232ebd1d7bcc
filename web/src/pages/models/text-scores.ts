import type { ModelDetails } from '../../../../src/schemas/models.ts';
import { embedTexts, rerankTexts } from '../../server/retrieval.ts';

/** Scores of a model for some texts. */
export interface TextScores {
  readonly model: string;
  /** In the order of the texts. */
  readonly scores: readonly number[];
  /** Milliseconds from the request to the reply. */
  readonly ms: number;
  /** Vector of the query; null for rerankers. */
  readonly vector: readonly number[] | null;
}

interface ScoreRequest {
  readonly query: string;
  readonly texts: readonly string[];
}

/** Scores texts against a query: the relevance of a reranker, or the cosine similarity of vectors. */
export async function scoreTexts(
  { id, kind, dimensions }: ModelDetails,
  { query, texts }: ScoreRequest,
): Promise<TextScores> {
  const started = performance.now();
  if (kind === 'reranker') {
    const { results } = await rerankTexts({ model: id, query, documents: [...texts] });
    const scores = new Map(results.map(({ index, relevance_score }) => [index, relevance_score]));
    return {
      model: id,
      scores: texts.map((_, i) => scores.get(i) ?? 0),
      ms: performance.now() - started,
      vector: null,
    };
  }
  const [queryVectors, vectors] = await Promise.all([
    embedTexts({ model: id, type: 'query', texts: [query], dimensions }),
    embedTexts({ model: id, type: 'document', texts, dimensions }),
  ]);
  const vector = queryVectors[0] ?? [];
  return {
    model: id,
    scores: vectors.map((each) => multiply(vector, each)),
    ms: performance.now() - started,
    vector,
  };
}

/** Cosine similarity of two vectors of length 1. */
function multiply(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
}
