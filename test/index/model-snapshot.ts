import type { IndexQuery } from '../../src/index/collection-index.ts';
import type { RowTerms } from './samples.ts';

// BM25 parameters of native/engine/bm25.h.
const saturation = 1.2;
const lengthNorm = 0.6;
const prefixWeight = 0.3;

export interface Row {
  readonly vector: Float32Array;
  readonly terms: RowTerms;
}

export interface StoredDocument {
  readonly rows: readonly Row[];
  readonly color: string;
  readonly topic: string;
  readonly shard: number;
}

export type Terms = IndexQuery['terms'];

function lengthOf({ terms }: Row): number {
  return terms.reduce((sum, [, body]) => sum + body, 0);
}

/** Visible documents at one moment; later changes do not affect it. */
export class ModelSnapshot {
  readonly documents: ReadonlyMap<number, StoredDocument>;

  constructor(live: ReadonlyMap<number, StoredDocument>) {
    this.documents = new Map(live);
  }

  /** Returns a function that scores a row for these terms. */
  bm25(terms: Terms): (row: Row) => number {
    if (terms.length === 0) return () => 0;
    const rows = [...this.documents.values()].flatMap((document) => document.rows);
    const lengthMean = rows.reduce((sum, row) => sum + lengthOf(row), 0) / rows.length;
    const groups = [...new Set(terms.map(({ group }) => group))].map((group) => {
      const weights = new Map<bigint, number>();
      for (const { hash, weight } of terms.filter((term) => term.group === group))
        weights.set(hash, Math.max(weight, weights.get(hash) ?? 0));
      let found = 0;
      for (const row of rows) if (row.terms.some(([hash]) => weights.has(hash))) found++;
      return { weights, idf: Math.log1p(Math.max(0, rows.length - found + 0.5) / (found + 0.5)) };
    });
    return (row) => {
      const norm = saturation * (1 - lengthNorm + (lengthNorm * lengthOf(row)) / lengthMean);
      let score = 0;
      for (const { weights, idf } of groups) {
        let best = 0;
        for (const [hash, body, prefix] of row.terms) {
          const frequency = body + prefixWeight * prefix;
          const termScore = ((weights.get(hash) ?? 0) * frequency * (saturation + 1)) / (frequency + norm);
          best = Math.max(best, termScore);
        }
        score += best * idf;
      }
      return score;
    };
  }
}
