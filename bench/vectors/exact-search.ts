import { assert } from '../../src/core/assert.ts';
import { filters } from './tags.ts';
import { openVectorFile } from './vector-file.ts';

/** Rows with their similarities, best first; -1 and -Infinity if fewer rows match. */
export interface ExactNeighbors {
  readonly rows: Int32Array;
  readonly scores: Float64Array;
}

/** The best rows of one question so far, best first. */
class BestRows implements ExactNeighbors {
  readonly scores: Float64Array;
  readonly rows: Int32Array;
  #worst = Number.NEGATIVE_INFINITY;

  constructor(count: number) {
    this.scores = new Float64Array(count).fill(Number.NEGATIVE_INFINITY);
    this.rows = new Int32Array(count).fill(-1);
  }

  add(row: number, score: number): void {
    if (score <= this.#worst) return;
    let at = this.rows.length - 1;
    for (; at > 0 && this.scores[at - 1]! < score; at--) {
      this.scores[at] = this.scores[at - 1]!;
      this.rows[at] = this.rows[at - 1]!;
    }
    this.scores[at] = score;
    this.rows[at] = row;
    this.#worst = this.scores[this.rows.length - 1]!;
  }
}

export interface ExactTask {
  readonly vectorsPath: string;
  readonly tags: Uint8Array;
  /** Questions, concatenated. */
  readonly questions: Float32Array;
  readonly depth: number;
  readonly blockRows: number;
}

/**
 * Computes the nearest rows of each question by inner product in double precision, without any of the
 * measured code: first without a filter, then with each of `filters`. Returns one list per case, with `depth`
 * rows per question. Ties are in ascending order of rows; `countHits` accepts any of the tied rows.
 */
export async function exactSearch(
  { vectorsPath, tags, questions, depth, blockRows }: ExactTask,
  onProgress: (rows: number) => void,
): Promise<ExactNeighbors[]> {
  const file = await openVectorFile(vectorsPath);
  try {
    const { dimensions } = file;
    assert(
      tags.length <= file.rows && questions.length % dimensions === 0,
      'tags and questions fit the rows',
    );
    const count = questions.length / dimensions;
    const best = Array.from({ length: count }, () =>
      Array.from({ length: 1 + filters.length }, () => new BestRows(depth)),
    );
    for (let first = 0; first < tags.length; first += blockRows) {
      const rows = Math.min(blockRows, tags.length - first);
      const block = await file.read(first, rows);
      for (let question = 0; question < count; question++) {
        const query = questions.subarray(question * dimensions, (question + 1) * dimensions);
        addBlock({ block, query, tags, first, rows }, best[question]!);
      }
      onProgress(rows);
    }
    return [-1, ...filters.keys()].map((_, which) => concatenate(best.map((lists) => lists[which]!)));
  } finally {
    await file.close();
  }
}

interface RowBlock {
  readonly block: Float32Array;
  readonly query: Float32Array;
  readonly tags: Uint8Array;
  readonly first: number;
  readonly rows: number;
}

function addBlock({ block, query, tags, first, rows }: RowBlock, best: readonly BestRows[]): void {
  const all = best[0]!;
  for (let i = 0; i < rows; i++) {
    const score = similarity(block, i * query.length, query);
    const row = first + i;
    all.add(row, score);
    const tag = tags[row]!;
    if (tag === 0) continue;
    for (let filterIndex = 0; filterIndex < filters.length; filterIndex++) {
      if ((tag & (1 << filters[filterIndex]!.bit)) !== 0) best[filterIndex + 1]!.add(row, score);
    }
  }
}

/** Returns the inner product. Equal rows give bit-identical results, independent of their position. */
export function similarity(block: Float32Array, from: number, query: Float32Array): number {
  const { length } = query;
  let [a, b, c, d] = [0, 0, 0, 0];
  let i = 0;
  for (; i + 3 < length; i += 4) {
    a += block[from + i]! * query[i]!;
    b += block[from + i + 1]! * query[i + 1]!;
    c += block[from + i + 2]! * query[i + 2]!;
    d += block[from + i + 3]! * query[i + 3]!;
  }
  for (; i < length; i++) a += block[from + i]! * query[i]!;
  return a + b + (c + d);
}

function concatenate(parts: readonly ExactNeighbors[]): ExactNeighbors {
  const length = parts.reduce((sum, { rows }) => sum + rows.length, 0);
  const whole = { rows: new Int32Array(length), scores: new Float64Array(length) };
  let at = 0;
  for (const { rows, scores } of parts) {
    whole.rows.set(rows, at);
    whole.scores.set(scores, at);
    at += rows.length;
  }
  return whole;
}
