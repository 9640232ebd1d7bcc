/**
 * Measures the built-in models on judged collections in BEIR layout:
 * `node dist/models/train/evaluate.js --eval <folder of sets> [--sets a,b] [--queries 1000]
 * [--dimensions 320] [--models <folder>]`.
 * Of a larger set, evenly spaced queries are asked. Prints a Markdown table of nDCG@10: BM25 (Porter stems, k1 .9,
 * b .4), the embedding alone, their linear fusion L / max(L) + .8 cosine, and the fusion blended with the reranker over
 * its best 100.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import stemmers from 'snowball-stemmers';
import { projectRoot } from '../../src/base/root.ts';
import { evenlySpaced, type JudgedSet, readJudgedSet } from '../../src/eval/judged-set.ts';
import { ndcg } from '../../src/eval/measures.ts';
import { toDimensions } from '../../src/models/dimensions.ts';
import { FeatureReranker } from '../../src/models/feature-reranker.ts';
import type { Embedder, InputType, Reranker } from '../../src/models/model.ts';
import { StaticEmbedder } from '../../src/models/static-embedder.ts';
import { eachWord, normaliseWord } from '../../src/text/wordpiece.ts';
import { best } from './best.ts';
import { Bm25 } from './bm25.ts';

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
const methods = ['bm25', 'dense', 'fused', 'reranked'] as const;
const rerankDepth = 100;
type Results = Record<(typeof methods)[number], number>;

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

/** Scores with mean 0 and deviation 1. */
function standardised(scores: Float32Array): Float32Array {
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const variance = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length;
  return scores.map((score) => (score - mean) / Math.sqrt(Math.max(variance, 1e-12)));
}

/** Rows of the best fused scores in the order of z(log-odds of the reranker) + z(fused). */
async function rerank(
  query: string,
  set: JudgedSet,
  fused: Float32Array,
  reranker: Reranker,
): Promise<number[]> {
  const rows = best(fused, rerankDepth);
  const { scores } = await reranker.score(
    query,
    rows.map((row) => set.documents[row]!.text),
  );
  const odds = standardised(scores.map((score) => Math.log((score + 1e-6) / (1 - score + 1e-6))));
  const first = standardised(Float32Array.from(rows, (row) => fused[row]!));
  return best(
    odds.map((odd, index) => odd + first[index]!),
    depth,
  ).map((index) => rows[index]!);
}

interface Models {
  readonly embedder: Embedder;
  readonly reranker: Reranker;
  readonly dimensions: number;
}

/** The vectors of some texts at the wanted width, row after row. */
async function vectorsOf(texts: readonly string[], type: InputType, models: Models): Promise<Float32Array> {
  const { embedder, dimensions } = models;
  const { vectors } = await embedder.embed(texts, type);
  const rows = new Float32Array(texts.length * dimensions);
  for (const index of texts.keys()) {
    const vector = vectors.subarray(index * embedder.dimensions, (index + 1) * embedder.dimensions);
    rows.set(toDimensions(vector, dimensions), index * dimensions);
  }
  return rows;
}

async function measure(set: JudgedSet, models: Models): Promise<Results> {
  const { reranker, dimensions: width } = models;
  const texts = set.documents.map(({ text }) => text);
  const gainOf = (rows: readonly number[], grades: ReadonlyMap<string, number>) =>
    ndcg(
      rows.map((row) => set.documents[row]!.id),
      grades,
      depth,
    );
  const bm25 = new Bm25(texts.map(stemsOf), { k1: 0.9, b: 0.4 });
  const documents = await vectorsOf(texts, 'document', models);
  const asked = set.questions.map(({ text }) => text);
  const queries = await vectorsOf(asked, 'query', models);
  const sums: Results = { bm25: 0, dense: 0, fused: 0, reranked: 0 };
  for (const [index, { text, grades }] of set.questions.entries()) {
    const lexical = bm25.scores(stemsOf(text));
    const query = queries.subarray(index * width, (index + 1) * width);
    const cosines = lexical.map((_, row) => {
      let sum = 0;
      for (let d = 0, at = row * width; d < width; d += 1, at += 1) sum += query[d]! * documents[at]!;
      return sum;
    });
    const top = lexical.reduce((most, score) => Math.max(most, score), 1e-9);
    const fused = lexical.map((score, row) => score / top + 0.8 * cosines[row]!);
    sums.bm25 += gainOf(best(lexical, depth), grades);
    sums.dense += gainOf(best(cosines, depth), grades);
    sums.fused += gainOf(best(fused, depth), grades);
    sums.reranked += gainOf(await rerank(text, set, fused, reranker), grades);
  }
  for (const method of methods) sums[method] /= set.questions.length;
  return sums;
}

function row(name: string, values: Results): string {
  return `| ${name} | ${methods.map((method) => values[method].toFixed(4)).join(' | ')} |`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      eval: { type: 'string' },
      sets: { type: 'string', default: allSets.join(',') },
      queries: { type: 'string', default: '1000' },
      dimensions: { type: 'string', default: '320' },
      models: { type: 'string', default: join(projectRoot, 'models') },
    },
  });
  const folder = values.eval;
  if (folder === undefined || !existsSync(folder)) throw new Error('--eval names the folder of the sets');
  const models: Models = {
    embedder: await StaticEmbedder.open('zembed-1', join(values.models, 'zembed-1')),
    reranker: await FeatureReranker.open('zerank-2', join(values.models, 'zerank')),
    dimensions: Number(values.dimensions),
  };
  console.log(`| nDCG@10 | ${methods.join(' | ')} |\n|---|${methods.map(() => '---:|').join('')}`);
  const mean: Results = { bm25: 0, dense: 0, fused: 0, reranked: 0 };
  const names = values.sets.split(',');
  for (const [index, name] of names.entries()) {
    const whole = await readJudgedSet(join(folder, name));
    const set = { ...whole, questions: evenlySpaced(whole.questions, Number(values.queries)) };
    const result = await measure(set, models);
    console.log(row(name, result));
    if (index >= meanSets) continue;
    for (const method of methods) mean[method] += result[method] / Math.min(meanSets, names.length);
    if (index + 1 === meanSets) console.log(row('**mean of the six**', mean));
  }
  await models.reranker.close();
  await models.embedder.close();
}

await main();
