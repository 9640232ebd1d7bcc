/**
 * Measures the built-in models and the server's ranking on judged collections in BEIR layout, without a
 * server:
 * `node dist/models/train/evaluate.js --eval <folder of sets> [--sets a,b] [--queries 1000]
 * [--terms porter|plain] [--dimensions 320] [--models <folder>]`.
 * A larger set is sampled by evenly spaced queries. Prints a Markdown table of nDCG@10 and of recall@100:
 * plain BM25 (Porter stems or plain words, k1 .9, b .4), the server's BM25, the embedding alone, the server's
 * fusion of these two, and the fusion blended with the reranker over its best 100. Ranks whole documents, not
 * their chunks.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from '../../src/core/root.ts';
import { type JudgedSet, readJudgedSet, sampleEvenly } from '../../src/eval/judged-set.ts';
import { ndcg, recall } from '../../src/eval/measures.ts';
import { builtInRerankWeight } from '../../src/models/catalog.ts';
import { toDimensions } from '../../src/models/dimensions.ts';
import { FeatureReranker } from '../../src/models/feature-reranker.ts';
import type { Embedder, InputType, Reranker } from '../../src/models/model.ts';
import { ModelVocabulary } from '../../src/models/model-vocabulary.ts';
import { StaticEmbedder } from '../../src/models/static-embedder.ts';
import { blend, fuse } from '../../src/search/fuse.ts';
import { Bm25 } from './bm25.ts';
import { defaultSets } from './default-sets.ts';
import {
  extractPlainTerms,
  type PlainAnalyzer,
  parsePlainAnalyzer,
  plainBm25Parameters,
} from './plain-terms.ts';
import { ServerBm25 } from './server-bm25.ts';
import { topRows } from './top-rows.ts';

const depth = 10;
const recallDepth = 100;
const methods = ['bm25', 'lexical', 'vector', 'hybrid', 'reranked'] as const;
const rerankDepth = 100;
type Results = Record<(typeof methods)[number], Quality>;
interface Quality {
  ndcg: number;
  recall: number;
}

const modelVocabulary = ModelVocabulary.load();

/** Returns rows in the server's order: the best fused ones blended with the reranker, then the rest. */
async function rerank(
  query: string,
  set: JudgedSet,
  fused: Float32Array,
  reranker: Reranker,
): Promise<number[]> {
  const rows = topRows(fused, rerankDepth);
  const { scores } = await reranker.score(
    query,
    rows.map((row) => set.documents[row]!.text),
  );
  const first = Float32Array.from(rows, (row) => fused[row]!);
  return topRows(
    blend(scores, first, builtInRerankWeight * modelVocabulary.computeFamiliarity(query)),
    rerankDepth,
  ).map((index) => rows[index]!);
}

interface Models {
  readonly embedder: Embedder;
  readonly reranker: Reranker;
  readonly dimensions: number;
}

/** Returns the vectors of texts, resized to the requested dimensions, row by row. */
async function embedTexts(texts: readonly string[], type: InputType, models: Models): Promise<Float32Array> {
  const { embedder, dimensions } = models;
  const { vectors } = await embedder.embed(texts, type);
  const rows = new Float32Array(texts.length * dimensions);
  for (const index of texts.keys()) {
    const vector = vectors.subarray(index * embedder.dimensions, (index + 1) * embedder.dimensions);
    rows.set(toDimensions(vector, dimensions), index * dimensions);
  }
  return rows;
}

async function evaluateSet(set: JudgedSet, models: Models, analyzer: PlainAnalyzer): Promise<Results> {
  const { reranker, dimensions: width } = models;
  const texts = set.documents.map(({ text }) => text);
  const bm25 = new Bm25(
    texts.map((text) => extractPlainTerms(text, analyzer)),
    plainBm25Parameters,
  );
  const serverBm25 = new ServerBm25(texts);
  const documents = await embedTexts(texts, 'document', models);
  const queryTexts = set.questions.map(({ text }) => text);
  const queries = await embedTexts(queryTexts, 'query', models);
  const sums = createEmptyResults();
  for (const [index, { text, grades }] of set.questions.entries()) {
    const addQuality = (method: keyof Results, rows: readonly number[]) => {
      const ids = rows.map((row) => set.documents[row]!.id);
      sums[method].ndcg += ndcg(ids, grades, depth) / set.questions.length;
      sums[method].recall += recall(ids, grades, recallDepth) / set.questions.length;
    };
    const lexical = serverBm25.scores(text);
    const query = queries.subarray(index * width, (index + 1) * width);
    const cosines = computeCosines(query, documents);
    const fused = fuse(lexical, cosines);
    addQuality('bm25', topRows(bm25.scores(extractPlainTerms(text, analyzer)), recallDepth));
    addQuality('lexical', topRows(lexical, recallDepth));
    addQuality('vector', topRows(cosines, recallDepth));
    addQuality('hybrid', topRows(fused, recallDepth));
    addQuality('reranked', await rerank(text, set, fused, reranker));
  }
  return sums;
}

/** Returns the cosine of a query with every row of `documents`. */
function computeCosines(query: Float32Array, documents: Float32Array): Float32Array {
  const width = query.length;
  return Float32Array.from({ length: documents.length / width }, (_, row) => {
    let sum = 0;
    for (let d = 0, at = row * width; d < width; d += 1, at += 1) sum += query[d]! * documents[at]!;
    return sum;
  });
}

function createEmptyResults(): Results {
  const createEmptyQuality = () => ({ ndcg: 0, recall: 0 });
  return {
    bm25: createEmptyQuality(),
    lexical: createEmptyQuality(),
    vector: createEmptyQuality(),
    hybrid: createEmptyQuality(),
    reranked: createEmptyQuality(),
  };
}

function formatRow(name: string, values: Results): string {
  const cells = (measure: keyof Quality) => methods.map((method) => values[method][measure].toFixed(4));
  return `| ${[name, ...cells('ndcg'), ...cells('recall')].join(' | ')} |`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      eval: { type: 'string' },
      sets: { type: 'string', default: defaultSets.join(',') },
      queries: { type: 'string', default: '1000' },
      terms: { type: 'string', default: 'porter' },
      dimensions: { type: 'string', default: '320' },
      models: { type: 'string', default: join(projectRoot, 'models') },
    },
  });
  const folder = values.eval;
  if (folder === undefined || !existsSync(folder))
    throw new Error('--eval is required: the folder with the judged sets');
  const analyzer = parsePlainAnalyzer(values.terms);
  const models: Models = {
    embedder: await StaticEmbedder.open('zembed-1', join(values.models, 'zembed-1')),
    reranker: await FeatureReranker.open('zerank-2', join(values.models, 'zerank')),
    dimensions: Number(values.dimensions),
  };
  const headings = methods.map((method) => `nDCG ${method}`);
  const recalls = methods.map((method) => `recall ${method}`);
  console.log(`| set | ${[...headings, ...recalls].join(' | ')} |`);
  console.log(`|---|${[...headings, ...recalls].map(() => '---:|').join('')}`);
  const mean = createEmptyResults();
  const names = values.sets.split(',');
  for (const name of names) {
    const whole = await readJudgedSet(join(folder, name));
    const set = { ...whole, questions: sampleEvenly(whole.questions, Number(values.queries)) };
    const result = await evaluateSet(set, models, analyzer);
    console.log(formatRow(name, result));
    for (const method of methods) {
      mean[method].ndcg += result[method].ndcg / names.length;
      mean[method].recall += result[method].recall / names.length;
    }
  }
  console.log(formatRow('**mean**', mean));
  await models.reranker.close();
  await models.embedder.close();
}

await main();
