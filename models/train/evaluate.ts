/**
 * Measures the committed models on judged collections in BEIR layout: `node dist/models/train/evaluate.js --eval
 * <folder of sets> [--sets a,b]`. Prints a Markdown table of nDCG@10: BM25 (Porter stems, k1 .9, b .4), the embedding
 * alone, their linear fusion L / max(L) + .8 cosine, and the fusion blended with the reranker over its best 100.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import stemmers from 'snowball-stemmers';
import type { Embedder } from '../../src/models/model.ts';
import { openEmbedder } from '../../src/models/registry.ts';
import { eachWord, normaliseWord } from '../../src/text/wordpiece.ts';
import { Bm25 } from './bm25.ts';
import { best, type JudgedSet, ndcg, readJudgedSet } from './judged-set.ts';

const allSets = [
  'cranfield',
  'cisi',
  'liveqa-med',
  'squad-dev-v1.1',
  'nq-oracle',
  'boolq-dev',
  'boolq-train-part',
  'xquad/en',
];
/** The six sets whose mean `ranking.md` reports. */
const meanSets = 6;
const depth = 10;
const methods = ['bm25', 'dense', 'fused'] as const;
type Method = (typeof methods)[number];

const stemmer = stemmers.newStemmer('porter');
const stems = new Map<string, string>();

/** Porter stems of the words of a text. */
function stemsOf(text: string): string[] {
  const words: string[] = [];
  eachWord(text, (raw) => {
    let stem = stems.get(raw);
    if (stem === undefined) {
      stem = stemmer.stem(normaliseWord(raw));
      stems.set(raw, stem);
    }
    words.push(stem);
  });
  return words;
}

async function measure(set: JudgedSet, embedder: Embedder): Promise<Record<Method, number>> {
  const bm25 = new Bm25(set.documents.map(stemsOf), { k1: 0.9, b: 0.4 });
  const width = embedder.dimensions;
  const { vectors: documents } = await embedder.embed(set.documents, 'document');
  const { vectors: queries } = await embedder.embed(
    set.queries.map(({ text }) => text),
    'query',
  );
  const sums: Record<Method, number> = { bm25: 0, dense: 0, fused: 0 };
  for (const [index, { text, grades }] of set.queries.entries()) {
    const lexical = bm25.scores(stemsOf(text));
    const query = queries.subarray(index * width, (index + 1) * width);
    const cosines = lexical.map((_, row) => {
      let sum = 0;
      for (let d = 0, at = row * width; d < width; d += 1, at += 1) sum += query[d]! * documents[at]!;
      return sum;
    });
    const top = lexical.reduce((most, score) => Math.max(most, score), 1e-9);
    const fused = lexical.map((score, row) => score / top + 0.8 * cosines[row]!);
    sums.bm25 += ndcg(best(lexical, depth), grades, depth);
    sums.dense += ndcg(best(cosines, depth), grades, depth);
    sums.fused += ndcg(best(fused, depth), grades, depth);
  }
  for (const method of methods) sums[method] /= set.queries.length;
  return sums;
}

function row(name: string, values: Record<Method, number>): string {
  return `| ${name} | ${methods.map((method) => values[method].toFixed(4)).join(' | ')} |`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { eval: { type: 'string' }, sets: { type: 'string' } } });
  const folder = values.eval;
  if (folder === undefined || !existsSync(folder))
    throw new Error('--eval names the folder of the judged sets');
  const embedder = await openEmbedder('zembed-1');
  console.log(`| nDCG@10 | ${methods.join(' | ')} |\n|---|${methods.map(() => '---:|').join('')}`);
  const mean: Record<Method, number> = { bm25: 0, dense: 0, fused: 0 };
  const names = values.sets?.split(',') ?? allSets;
  for (const [index, name] of names.entries()) {
    const result = await measure(await readJudgedSet(join(folder, name)), embedder);
    console.log(row(name, result));
    if (index >= meanSets) continue;
    for (const method of methods) mean[method] += result[method] / Math.min(meanSets, names.length);
    if (index + 1 === meanSets) console.log(row('**mean of the six**', mean));
  }
  await embedder.close();
}

await main();
