import { findJudgedFolders, type JudgedSet, readJudgedSet, sampleEvenly } from '../../src/eval/judged-set.ts';
import { ndcg as ndcgOf } from '../../src/eval/measures.ts';
import type { BenchApiClient } from '../harness/api.ts';
import type { BenchCase, BenchContext } from '../harness/bench-case.ts';
import { addBatch } from '../harness/collections.ts';
import { startQuarryServer } from '../harness/quarry-server.ts';
import { topicQuestions } from '../harness/topic-questions.ts';
import type { BenchFindings, Figure } from '../report/findings.ts';
import { formatNumber } from '../report/format-number.ts';

const depth = 10;
const batchDocuments = 64;
const modes = [
  { name: 'no reranker', parameters: {} },
  { name: 'zerank-2', parameters: { reranker: 'zerank-2' } },
  { name: 'zerank-2, latency_mode high', parameters: { reranker: 'zerank-2', latency_mode: 'high' } },
] as const;

/** Measures the relevance of results end to end over HTTP. */
export const relevanceCase: BenchCase = {
  name: 'relevance',
  summary: 'nDCG@10 of documents over HTTP, with and without a reranker; generated questions or judged sets',
  presets: {
    smoke: '--documents 60 --words 60 --questions 10',
    usual: '--documents 1000 --questions 200',
    full: '--documents 10000 --questions 1000',
  },
  async run(context) {
    const sets = await loadJudgedSets(context);
    const server = await startQuarryServer({ http: context.options.http });
    try {
      const rows: RelevanceMeasurement[] = [];
      for (const [number, set] of sets.entries()) {
        rows.push(await measure(server.api, `set-${number}`, set, context));
      }
      return findingsOf(rows, context);
    } finally {
      await server.stop();
    }
  },
};

interface RelevanceMeasurement {
  readonly name: string;
  readonly documents: number;
  readonly questions: number;
  readonly ndcg: Readonly<Record<string, number>>;
}

async function measure(
  api: BenchApiClient,
  collection: string,
  { name, documents, questions }: JudgedSet,
  { progress, signal }: BenchContext,
): Promise<RelevanceMeasurement> {
  await api.call('collections/add-collection', { collection_name: collection });
  for (let first = 0; first < documents.length; first += batchDocuments) {
    signal.throwIfAborted();
    progress.update('adding documents', first, documents.length, name);
    const batch = documents
      .slice(first, first + batchDocuments)
      .map(({ id, text }) => ({ path: id, content: { type: 'text', text } }));
    await addBatch(api, collection, batch);
  }
  const ndcg: Record<string, number> = {};
  for (const mode of modes) {
    let sum = 0;
    for (const [done, { text, grades }] of questions.entries()) {
      signal.throwIfAborted();
      progress.update('asking', done, questions.length, `${name}, ${mode.name}`);
      const body = { collection_name: collection, query: text, k: depth, ...mode.parameters };
      const { results } = await api.call<{ results: { path: string }[] }>('queries/top-documents', body);
      sum += ndcgOf(
        results.map(({ path }) => path),
        grades,
        depth,
      );
    }
    ndcg[mode.name] = sum / questions.length;
  }
  return { name, documents: documents.length, questions: questions.length, ndcg };
}

async function loadJudgedSets({ options }: BenchContext): Promise<JudgedSet[]> {
  const { judged, questions } = options;
  if (judged === null) return [generatedJudgedSet(options)];
  const sets: JudgedSet[] = [];
  for (const folder of await findJudgedFolders(judged)) {
    const set = await readJudgedSet(folder);
    sets.push({ ...set, questions: sampleEvenly(set.questions, questions) });
  }
  return sets;
}

function generatedJudgedSet(options: BenchContext['options']): JudgedSet {
  const { documents, questions } = topicQuestions(options);
  const graded = questions.map(({ answers, ...question }) => ({
    ...question,
    grades: new Map(answers.map(({ id }) => [id, 1])),
  }));
  return { name: 'generated', documents, questions: graded };
}

function findingsOf(rows: readonly RelevanceMeasurement[], { options }: BenchContext): BenchFindings {
  return {
    title: 'Relevance over HTTP: nDCG@10',
    method: [
      options.judged === null
        ? 'Generated documents; each topic has its own words. A question uses words of one topic, and exactly the documents of that topic are relevant.'
        : 'Judged collections in BEIR layout; grades are those of qrels/test.tsv, the gain is the grade.',
      'Documents are added and questions asked over HTTP with default settings: `top-documents`, ten results.',
    ],
    tables: [
      {
        title: 'nDCG@10',
        columns: [
          { key: 'name', heading: 'set', unit: null, digits: 0 },
          { key: 'documents', heading: 'documents', unit: null, digits: 0 },
          { key: 'questions', heading: 'questions', unit: null, digits: 0 },
          ...modes.map(({ name }) => ({ key: name, heading: name, unit: null, digits: 4 })),
        ],
        rows: rows.map(({ name, documents, questions, ndcg }) => ({ name, documents, questions, ...ndcg })),
      },
    ],
    charts: [],
    notes: [
      options.judged === null
        ? 'Generated text only shows that nothing is broken. To measure the quality on real questions, pass judged sets with --judged; see models/README.md.'
        : `A mean over ${formatNumber(
            rows.reduce((sum, { questions }) => sum + questions, 0),
            0,
          )} questions; differences below .01 are within noise.`,
    ],
    figures: rows.flatMap(({ name, ndcg }) =>
      Object.entries(ndcg).map(
        ([mode, value]): Figure => ({
          name: `${name}: nDCG@10, ${mode}`,
          unit: 'nDCG',
          better: 'more',
          values: [value],
        }),
      ),
    ),
    measured: rows,
  };
}
