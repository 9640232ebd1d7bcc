/**
 * Measures the built-in models and the server's ranking on judged collections in BEIR layout, without a server:
 * `node dist/models/train/evaluate.js --eval <folder of sets> [--sets a,b] [--queries 1000]
 * [--terms porter|plain] [--dimensions 320] [--models <folder>]`.
 * Of a larger set, evenly spaced queries are asked. Prints a Markdown table of nDCG@10 and of recall@100: plain BM25
 * (Porter stems or plain words, k1 .9, b .4), BM25 as the server has it, the embedding alone, the server's fusion of
 * these two, and the fusion blended with the reranker over its best 100. Documents are ranked whole, not by their chunks.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from '../../src/base/root.ts';
import { evenlySpaced, type JudgedSet, readJudgedSet } from '../../src/eval/judged-set.ts';
import { ndcg, recall } from '../../src/eval/measures.ts';
import { builtInRerankWeight } from '../../src/models/catalogue.ts';
import { toDimensions } from '../../src/models/dimensions.ts';
import { FeatureReranker } from '../../src/models/feature-reranker.ts';
import { KnownWords } from '../../src/models/known-words.ts';
import type { Embedder, InputType, Reranker } from '../../src/models/model.ts';
import { StaticEmbedder } from '../../src/models/static-embedder.ts';
import { blend, fuse } from '../../src/search/fuse.ts';
import { best } from './best.ts';
import { Bm25 } from './bm25.ts';
import { type PlainCut, plainCut, plainParameters, plainTerms } from './plain-terms.ts';
import { ServerWords } from './server-words.ts';
import { usualSets } from './usual-sets.ts';

const depth = 10;
const recallDepth = 100;
const methods = ['bm25', 'words', 'vectors', 'both', 'reranked'] as const;
const rerankDepth = 100;
type Results = Record<(typeof methods)[number], Quality>;
interface Quality {
  ndcg: number;
  recall: number;
}

const knownWords = KnownWords.read();

/** Rows in the order that the server gives them: the best fused ones blended with the reranker, then the rest. */
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
  const first = Float32Array.from(rows, (row) => fused[row]!);
  return best(blend(scores, first, builtInRerankWeight * knownWords.familiarity(query)), rerankDepth).map(
    (index) => rows[index]!,
  );
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

async function measure(set: JudgedSet, models: Models, cut: PlainCut): Promise<Results> {
  const { reranker, dimensions: width } = models;
  const texts = set.documents.map(({ text }) => text);
  const bm25 = new Bm25(
    texts.map((text) => plainTerms(text, cut)),
    plainParameters,
  );
  const words = new ServerWords(texts);
  const documents = await vectorsOf(texts, 'document', models);
  const asked = set.questions.map(({ text }) => text);
  const queries = await vectorsOf(asked, 'query', models);
  const sums = noResults();
  for (const [index, { text, grades }] of set.questions.entries()) {
    const count = (method: keyof Results, rows: readonly number[]) => {
      const ids = rows.map((row) => set.documents[row]!.id);
      sums[method].ndcg += ndcg(ids, grades, depth) / set.questions.length;
      sums[method].recall += recall(ids, grades, recallDepth) / set.questions.length;
    };
    const lexical = words.scores(text);
    const query = queries.subarray(index * width, (index + 1) * width);
    const cosines = cosinesOf(query, documents);
    const fused = fuse(lexical, cosines);
    count('bm25', best(bm25.scores(plainTerms(text, cut)), recallDepth));
    count('words', best(lexical, recallDepth));
    count('vectors', best(cosines, recallDepth));
    count('both', best(fused, recallDepth));
    count('reranked', await rerank(text, set, fused, reranker));
  }
  return sums;
}

/** Of a query with every row of `documents`. */
function cosinesOf(query: Float32Array, documents: Float32Array): Float32Array {
  const width = query.length;
  return Float32Array.from({ length: documents.length / width }, (_, row) => {
    let sum = 0;
    for (let d = 0, at = row * width; d < width; d += 1, at += 1) sum += query[d]! * documents[at]!;
    return sum;
  });
}

function noResults(): Results {
  const none = () => ({ ndcg: 0, recall: 0 });
  return { bm25: none(), words: none(), vectors: none(), both: none(), reranked: none() };
}

function row(name: string, values: Results): string {
  const cells = (measure: keyof Quality) => methods.map((method) => values[method][measure].toFixed(4));
  return `| ${[name, ...cells('ndcg'), ...cells('recall')].join(' | ')} |`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      eval: { type: 'string' },
      sets: { type: 'string', default: usualSets.join(',') },
      queries: { type: 'string', default: '1000' },
      terms: { type: 'string', default: 'porter' },
      dimensions: { type: 'string', default: '320' },
      models: { type: 'string', default: join(projectRoot, 'models') },
    },
  });
  const folder = values.eval;
  if (folder === undefined || !existsSync(folder)) throw new Error('--eval names the folder of the sets');
  const cut = plainCut(values.terms);
  const models: Models = {
    embedder: await StaticEmbedder.open('zembed-1', join(values.models, 'zembed-1')),
    reranker: await FeatureReranker.open('zerank-2', join(values.models, 'zerank')),
    dimensions: Number(values.dimensions),
  };
  const headings = methods.map((method) => `nDCG ${method}`);
  const recalls = methods.map((method) => `recall ${method}`);
  console.log(`| set | ${[...headings, ...recalls].join(' | ')} |`);
  console.log(`|---|${[...headings, ...recalls].map(() => '---:|').join('')}`);
  const mean = noResults();
  const names = values.sets.split(',');
  for (const name of names) {
    const whole = await readJudgedSet(join(folder, name));
    const set = { ...whole, questions: evenlySpaced(whole.questions, Number(values.queries)) };
    const result = await measure(set, models, cut);
    console.log(row(name, result));
    for (const method of methods) {
      mean[method].ndcg += result[method].ndcg / names.length;
      mean[method].recall += result[method].recall / names.length;
    }
  }
  console.log(row('**mean**', mean));
  await models.reranker.close();
  await models.embedder.close();
}

await main();
