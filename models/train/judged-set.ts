import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A judged collection in BEIR layout: corpus.jsonl, queries.jsonl, qrels/test.tsv. */
export interface JudgedSet {
  readonly documents: readonly string[];
  readonly queries: readonly { readonly text: string; readonly grades: ReadonlyMap<number, number> }[];
}

interface Line {
  readonly _id: string;
  readonly title?: string;
  readonly text: string;
}

async function readLines(path: string): Promise<Line[]> {
  const text = await readFile(path, 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

/** Reads a set; a document is its title, if any, then its text. Queries without a relevant document are left out. */
export async function readJudgedSet(folder: string): Promise<JudgedSet> {
  const corpus = await readLines(join(folder, 'corpus.jsonl'));
  const rows = new Map(corpus.map(({ _id }, row) => [_id, row]));
  const grades = new Map<string, Map<number, number>>();
  const judgments = (await readFile(join(folder, 'qrels', 'test.tsv'), 'utf8'))
    .trimEnd()
    .split('\n')
    .slice(1);
  for (const judgment of judgments) {
    const [query, document, grade] = judgment.split('\t');
    const row = rows.get(document ?? '');
    if (row === undefined || Number(grade) <= 0) continue;
    const known = grades.get(query ?? '') ?? new Map<number, number>();
    grades.set(query ?? '', known.set(row, Number(grade)));
  }
  const lines = await readLines(join(folder, 'queries.jsonl'));
  return {
    documents: corpus.map(({ title, text }) => (title ? `${title}\n${text}` : text)),
    queries: lines.flatMap(({ _id, text }) => {
      const known = grades.get(_id);
      return known === undefined ? [] : [{ text, grades: known }];
    }),
  };
}

/** Normalised discounted cumulative gain of the first `depth` rows; gain is the grade, as trec_eval has it. */
export function ndcg(ranking: readonly number[], grades: ReadonlyMap<number, number>, depth: number): number {
  const discounted = (gains: readonly number[]): number =>
    gains.slice(0, depth).reduce((sum, gain, rank) => sum + gain / Math.log2(rank + 2), 0);
  const ideal = discounted([...grades.values()].sort((a, b) => b - a));
  return discounted(ranking.slice(0, depth).map((row) => grades.get(row) ?? 0)) / ideal;
}

/** The rows of the `count` highest scores, best first; equal scores in the order of their rows. */
export function best(scores: Float32Array, count: number): number[] {
  const sorted = scores.slice().sort();
  const least = sorted[Math.max(0, sorted.length - count)]!;
  const rows: number[] = [];
  for (const [row, score] of scores.entries()) if (score >= least) rows.push(row);
  rows.sort((a, b) => scores[b]! - scores[a]! || a - b);
  return rows.slice(0, count);
}
