import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Api } from '../harness/api.ts';
import type { BenchCase, BenchContext } from '../harness/bench-case.ts';
import { addBatch } from '../harness/collections.ts';
import { Corpus } from '../harness/corpus.ts';
import { startQuarry } from '../harness/quarry-server.ts';
import { figure } from '../report/figures.ts';
import type { Figure, Findings } from '../report/findings.ts';

/** Documents by path, and questions with the grade of each document that answers them. */
interface Judged {
  readonly name: string;
  readonly documents: readonly { readonly path: string; readonly text: string }[];
  readonly questions: readonly { readonly text: string; readonly grades: ReadonlyMap<string, number> }[];
}

const depth = 10;
const batchDocuments = 64;
const modes = [
  { name: 'no reranker', parameters: {} },
  { name: 'zerank-2', parameters: { reranker: 'zerank-2' } },
  { name: 'zerank-2, latency_mode high', parameters: { reranker: 'zerank-2', latency_mode: 'high' } },
] as const;

/** How good are the answers, end to end over HTTP? */
export const relevanceCase: BenchCase = {
  name: 'relevance',
  summary: 'nDCG@10 of documents over HTTP, with and without a reranker; generated questions or judged sets',
  presets: {
    smoke: '--documents 60 --words 60 --questions 10',
    usual: '--documents 1000 --questions 200',
    full: '--documents 10000 --questions 1000',
  },
  async run(context) {
    const sets = await judgedSets(context);
    const server = await startQuarry({ http: context.options.http });
    try {
      const rows: Measured[] = [];
      for (const [number, set] of sets.entries()) {
        rows.push(await measure(server.api, `set-${number}`, set, context));
      }
      return findingsOf(rows, context);
    } finally {
      await server.stop();
    }
  },
};

interface Measured {
  readonly name: string;
  readonly documents: number;
  readonly questions: number;
  readonly ndcg: Readonly<Record<string, number>>;
}

async function measure(
  api: Api,
  collection: string,
  { name, documents, questions }: Judged,
  { progress, signal }: BenchContext,
): Promise<Measured> {
  await api.call('collections/add-collection', { collection_name: collection });
  for (let first = 0; first < documents.length; first += batchDocuments) {
    signal.throwIfAborted();
    progress.update('adding documents', first, documents.length, name);
    const batch = documents
      .slice(first, first + batchDocuments)
      .map(({ path, text }) => ({ path, content: { type: 'text', text } }));
    await addBatch(api, collection, batch);
  }
  const ndcg: Record<string, number> = {};
  for (const mode of modes) {
    let sum = 0;
    for (const [asked, { text, grades }] of questions.entries()) {
      signal.throwIfAborted();
      progress.update('asking', asked, questions.length, `${name}, ${mode.name}`);
      const body = { collection_name: collection, query: text, k: depth, ...mode.parameters };
      const { results } = await api.call<{ results: { path: string }[] }>('queries/top-documents', body);
      sum += gainOf(
        results.map(({ path }) => path),
        grades,
      );
    }
    ndcg[mode.name] = sum / questions.length;
  }
  return { name, documents: documents.length, questions: questions.length, ndcg };
}

/** Normalised discounted cumulative gain at 10; gain is the grade, as trec_eval has it. */
export function gainOf(paths: readonly string[], grades: ReadonlyMap<string, number>): number {
  const discounted = (gains: readonly number[]) =>
    gains.slice(0, depth).reduce((sum, gain, rank) => sum + gain / Math.log2(rank + 2), 0);
  const ideal = discounted([...grades.values()].sort((a, b) => b - a));
  return discounted(paths.map((path) => grades.get(path) ?? 0)) / ideal;
}

async function judgedSets({ options }: BenchContext): Promise<Judged[]> {
  const { judged } = options;
  if (judged === null) return [generated(options)];
  const entries = await readdir(judged, { withFileTypes: true });
  if (entries.some(({ name }) => name === 'corpus.jsonl')) return [await readSet(judged, options.questions)];
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(judged, name));
  return Promise.all(folders.map((folder) => readSet(folder, options.questions)));
}

/** A question about a topic is answered by the documents of the topic. */
function generated(options: BenchContext['options']): Judged {
  const corpus = new Corpus({ ...options, documents: Math.max(...options.documents) });
  const documents = Array.from({ length: corpus.documents }, (_, i) => corpus.document(i));
  const questions = Array.from({ length: options.questions }, (_, i) => {
    const topic = `topic-${corpus.topicOfQuestion(i)}/`;
    const relevant = documents.filter(({ path }) => path.startsWith(topic));
    return { text: corpus.question(i), grades: new Map(relevant.map(({ path }) => [path, 1])) };
  });
  return { name: 'generated', documents, questions: questions.filter(({ grades }) => grades.size > 0) };
}

/** A set in BEIR layout: corpus.jsonl, queries.jsonl, qrels/test.tsv. Of many questions, evenly spaced ones are asked. */
async function readSet(folder: string, questionsMax: number): Promise<Judged> {
  const lines = async (file: string) => (await readFile(join(folder, file), 'utf8')).trimEnd().split('\n');
  const records = async (file: string) =>
    (await lines(file)).map((line) => JSON.parse(line) as { _id: string; title?: string; text: string });
  const grades = new Map<string, Map<string, number>>();
  for (const judgement of (await lines('qrels/test.tsv')).slice(1)) {
    const [question = '', document = '', grade] = judgement.split('\t');
    if (Number(grade) <= 0) continue;
    grades.set(question, (grades.get(question) ?? new Map()).set(document, Number(grade)));
  }
  const questions = (await records('queries.jsonl')).flatMap(({ _id, text }) => {
    const known = grades.get(_id);
    return known === undefined ? [] : [{ text, grades: known }];
  });
  const every = Math.max(1, questions.length / questionsMax);
  return {
    name: basename(folder),
    documents: (await records('corpus.jsonl')).map(({ _id, title, text }) => ({
      path: _id,
      text: title === undefined || title === '' ? text : `${title}\n${text}`,
    })),
    questions: questions.filter((_, i) => Math.floor(i / every) !== Math.floor((i - 1) / every)),
  };
}

function findingsOf(rows: readonly Measured[], { options }: BenchContext): Findings {
  return {
    title: 'Relevance over HTTP: nDCG@10',
    method: [
      options.judged === null
        ? 'Generated documents in topics with words of their own; a question uses words of one topic, and exactly the documents of that topic answer it.'
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
        ? 'Generated text shows that nothing is broken. It says nothing about the quality on real questions: for that give judged sets with --judged, and see models/README.md.'
        : `A mean over ${figure(
            rows.reduce((sum, { questions }) => sum + questions, 0),
            0,
          )} questions; differences below .01 are chance.`,
    ],
    figures: rows.flatMap(({ name, ndcg }) =>
      Object.entries(ndcg).map(
        ([mode, value]): Figure => ({
          name: `${name}: nDCG@10, ${mode}`,
          unit: '',
          better: 'more',
          values: [value],
        }),
      ),
    ),
    measured: rows,
  };
}
