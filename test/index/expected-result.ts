import type { CollectionIndex, FilterNode } from '../../src/index/collection-index.ts';
import type { ModelSnapshot, StoredDocument, Terms } from './model-snapshot.ts';

/** Maximum error of a cosine relative to double precision. */
const cosineTolerance = 1e-5;
/** Maximum relative error of a BM25 score: the engine adds floats. */
const lexicalTolerance = 1e-5;

export interface FilterCase {
  readonly filter: FilterNode | null;
  readonly passes: (document: StoredDocument) => boolean;
}

export interface ModelQuery extends FilterCase {
  readonly vector: Float32Array | null;
  readonly terms: Terms;
  readonly vectorCandidates: number;
  readonly lexicalCandidates: number;
}

interface ExpectedScore {
  readonly similarity: number;
  readonly lexical: number;
}

/** Outcome of checking one query. */
export interface CheckedAnswer {
  /** First error, with enough detail to reproduce it; null if there is none. */
  readonly problem: string | null;
  /** Search strategy of each shard. */
  readonly strategies: readonly string[];
  /** Recall of the nearest rows; null for queries that also have terms or match no row. */
  readonly recall: number | null;
}

export const usesGraph = (strategies: readonly string[]): boolean =>
  strategies.some((strategy) => strategy.endsWith('graph'));
export const descending = (left: number, right: number): number => right - left;
/** Numbers from the highest; typed arrays sort without calls of a comparison. */
const sortDescending = (numbers: readonly number[]): Float64Array =>
  Float64Array.from(numbers).sort().reverse();

/** A row as one number, which a map finds sooner than a string. */
const chunksMax = 2 ** 16;
const rowKey = (version: number, chunk: number): number => version * chunksMax + chunk;
const nameOf = (key: number): string => `${Math.floor(key / chunksMax)}:${key % chunksMax}`;

function dot(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < left.length; i++) sum += left[i]! * right[i]!;
  return sum;
}

/** Expected result of a query on a snapshot, computed by a loop over all rows. */
export class ExpectedResult {
  readonly #query: ModelQuery;
  readonly #snapshot: ModelSnapshot;
  /** Matching rows by `rowKey`. */
  readonly #rows = new Map<number, ExpectedScore>();
  readonly #similarities: Float64Array;
  readonly #lexicalScores: Float64Array;

  constructor(query: ModelQuery, snapshot: ModelSnapshot) {
    this.#query = query;
    this.#snapshot = snapshot;
    const { vector, terms, passes, vectorCandidates, lexicalCandidates } = query;
    const bm25 = snapshot.bm25(terms);
    for (const [version, document] of snapshot.documents) {
      if (!passes(document)) continue;
      for (const [chunk, row] of document.rows.entries()) {
        const similarity = vector === null ? 0 : dot(vector, row.vector);
        this.#rows.set(rowKey(version, chunk), { similarity, lexical: bm25(row) });
      }
    }
    const rows = [...this.#rows.values()];
    const best = (scores: readonly number[], count: number) => sortDescending(scores).subarray(0, count);
    const similarities = vector === null ? [] : rows.map(({ similarity }) => similarity);
    this.#similarities = best(similarities, vectorCandidates);
    const lexicalScores = rows.map(({ lexical }) => lexical).filter((lexical) => lexical > 0);
    this.#lexicalScores = best(lexicalScores, lexicalCandidates);
  }

  check(hits: Awaited<ReturnType<CollectionIndex['search']>>): CheckedAnswer {
    const strategies = hits.shards.map(({ strategy }) => strategy);
    const found = new Map<number, ExpectedScore>();
    for (let i = 0; i < hits.count; i++) {
      const scores = { similarity: hits.similarity[i]!, lexical: hits.lexical[i]! };
      found.set(rowKey(hits.version[i]!, hits.chunk[i]!), scores);
    }
    const recall = this.#recallOf(found);
    const wrong =
      (found.size === hits.count ? null : 'a row occurs twice') ??
      this.#findWrongRow(found) ??
      this.#findWrongCount(found.size) ??
      this.#findWrongOrder(found) ??
      (!usesGraph(strategies) && this.#isExact() && recall < 1
        ? `so few rows are compared exactly, recall ${recall}`
        : null);
    const nearestAlone = this.#query.terms.length === 0 && this.#rows.size > 0;
    return { problem: wrong, strategies, recall: nearestAlone ? recall : null };
  }

  /** Finds a row that does not match, is not visible in the snapshot, or has a wrong score. */
  #findWrongRow(found: ReadonlyMap<number, ExpectedScore>): string | null {
    for (const [key, { similarity, lexical }] of found) {
      const row = this.#rows.get(key);
      if (row === undefined) return `${nameOf(key)} must not be in the result`;
      if (!(Math.abs(similarity - row.similarity) <= cosineTolerance))
        return `${nameOf(key)}: cosine ${similarity} instead of ${row.similarity}`;
      if (!(Math.abs(lexical - row.lexical) <= lexicalTolerance * row.lexical))
        return `${nameOf(key)}: BM25 ${lexical} instead of ${row.lexical}`;
    }
    return null;
  }

  #findWrongCount(count: number): string | null {
    const [near, lexical] = [this.#similarities.length, this.#lexicalScores.length];
    const [least, most] = [Math.max(near, lexical), near + lexical];
    return count >= least && count <= most ? null : `${count} rows instead of ${least} to ${most}`;
  }

  /** All of the best rows by BM25 must be present; the nearest may be at most as near as the model's. */
  #findWrongOrder(found: ReadonlyMap<number, ExpectedScore>): string | null {
    const scores = [...found.values()];
    const lexicalScores = sortDescending(scores.map(({ lexical }) => lexical));
    for (const [rank, lexical] of this.#lexicalScores.entries())
      if (!(Math.abs(lexicalScores[rank]! - lexical) <= lexicalTolerance * lexical))
        return `rank ${rank} has BM25 ${lexicalScores[rank]} instead of ${lexical}`;
    const similarities = sortDescending(scores.map(({ similarity }) => similarity));
    for (const [rank, similarity] of this.#similarities.entries())
      if (!(similarities[rank]! <= similarity + cosineTolerance))
        return `rank ${rank} has cosine ${similarities[rank]}, above ${similarity}`;
    return null;
  }

  #recallOf(found: ReadonlyMap<number, ExpectedScore>): number {
    const last = this.#similarities.at(-1);
    if (last === undefined) return 1;
    let near = 0;
    for (const key of found.keys())
      if ((this.#rows.get(key)?.similarity ?? Number.NEGATIVE_INFINITY) >= last - cosineTolerance) near++;
    return Math.min(1, near / this.#similarities.length);
  }

  /** Whether so few rows of each shard match that the engine compares them by exact cosines. */
  #isExact(): boolean {
    const matching = new Map<number, number>();
    for (const document of this.#snapshot.documents.values())
      if (this.#query.passes(document))
        matching.set(document.shard, (matching.get(document.shard) ?? 0) + document.rows.length);
    return [...matching.values()].every((rows) => rows <= 512);
  }
}
