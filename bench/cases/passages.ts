import { sampleEvenly } from '../../src/eval/judged-set.ts';
import {
  type DocumentSpan,
  measurePassageQuality,
  type PassageQuality,
} from '../../src/eval/passage-measures.ts';
import { type PassageSet, readPassageSet } from '../../src/eval/passage-set.ts';
import type { BenchApiClient } from '../harness/api.ts';
import type { BenchCase, BenchContext } from '../harness/bench-case.ts';
import { addBatch } from '../harness/collections.ts';
import { startQuarryServer } from '../harness/quarry-server.ts';
import { topicQuestions } from '../harness/topic-questions.ts';
import type { BenchFindings, Figure } from '../report/findings.ts';

/** Variants of `top-snippets` requests and numbers of snippets. Published comparisons of chunkers use five. */
const variants = [
  { name: 'coarse', count: 5, parameters: {} },
  { name: 'precise', count: 5, parameters: { precise_responses: true } },
  { name: 'precise', count: 10, parameters: { precise_responses: true } },
  { name: 'precise', count: 20, parameters: { precise_responses: true } },
  { name: 'precise, zerank-2', count: 5, parameters: { precise_responses: true, reranker: 'zerank-2' } },
  { name: 'precise, zerank-2', count: 20, parameters: { precise_responses: true, reranker: 'zerank-2' } },
] as const;
type SnippetVariant = (typeof variants)[number];

const batchDocuments = 64;
const collection = 'passages';

/** Measures whether snippets contain the passages that answer, and how much other text. */
export const passagesCase: BenchCase = {
  name: 'passages',
  summary: 'recall, precision and overlap of snippets with the passages that answer a question, by character',
  presets: {
    smoke: '--documents 60 --words 60 --questions 10',
    usual: '--documents 1000 --questions 200',
    full: '--documents 10000 --questions 1000',
  },
  async run(context) {
    const { passages } = context.options;
    const set = passages === null ? generatedPassageSet(context.options) : await readPassageSet(passages);
    const questions = sampleEvenly(set.questions, context.options.questions);
    const server = await startQuarryServer({ http: context.options.http });
    try {
      await addDocuments(server.api, set, context);
      const rows: SnippetQuality[] = [];
      for (const variant of variants)
        rows.push(await measureVariant(server.api, { ...set, questions }, variant, context));
      return findingsOf(rows, set, questions.length, context);
    } finally {
      await server.stop();
    }
  },
};

interface SnippetQuality extends PassageQuality {
  readonly way: string;
  readonly count: number;
  /** Mean characters of a response. */
  readonly characters: number;
}

async function addDocuments(
  api: BenchApiClient,
  { documents }: PassageSet,
  { progress, signal }: BenchContext,
): Promise<void> {
  await api.call('collections/add-collection', { collection_name: collection });
  for (let first = 0; first < documents.length; first += batchDocuments) {
    signal.throwIfAborted();
    progress.update('adding documents', first, documents.length, '');
    const batch = documents
      .slice(first, first + batchDocuments)
      .map(({ id, text }) => ({ path: id, content: { type: 'text', text } }));
    await addBatch(api, collection, batch);
  }
}

async function measureVariant(
  api: BenchApiClient,
  { questions }: PassageSet,
  { name, count, parameters }: SnippetVariant,
  { progress, signal }: BenchContext,
): Promise<SnippetQuality> {
  const sum = { recall: 0, precision: 0, overlap: 0, characters: 0 };
  for (const [done, { text, passages }] of questions.entries()) {
    signal.throwIfAborted();
    progress.update('asking', done, questions.length, `${name}, ${count} snippets`);
    const { results } = await api.call<{
      results: { path: string; start_index: number; end_index: number }[];
    }>('queries/top-snippets', { collection_name: collection, query: text, k: count, ...parameters });
    const found = results.map(
      ({ path, start_index: start, end_index: end }): DocumentSpan => ({ document: path, start, end }),
    );
    const quality = measurePassageQuality(found, passages);
    sum.recall += quality.recall;
    sum.precision += quality.precision;
    sum.overlap += quality.overlap;
    sum.characters += found.reduce((characters, { start, end }) => characters + end - start, 0);
  }
  const mean = (value: number) => value / questions.length;
  return {
    way: name,
    count,
    recall: mean(sum.recall),
    precision: mean(sum.precision),
    overlap: mean(sum.overlap),
    characters: mean(sum.characters),
  };
}

/** Generates a set in which each document of a topic answers the questions about it as a whole. */
function generatedPassageSet(options: BenchContext['options']): PassageSet {
  const { documents, questions } = topicQuestions(options);
  const wholeDocuments = questions.map(({ answers, ...question }) => ({
    ...question,
    passages: answers.map(({ id, text }) => ({ document: id, start: 0, end: text.length })),
  }));
  return { name: 'generated', documents, questions: wholeDocuments };
}

function findingsOf(
  rows: readonly SnippetQuality[],
  { name, documents }: PassageSet,
  questions: number,
  { options }: BenchContext,
): BenchFindings {
  const percent = (key: keyof PassageQuality) => ({ key, heading: key, unit: '%', digits: 1 });
  return {
    title: 'Passages over HTTP: do snippets contain the answer?',
    method: [
      options.passages === null
        ? 'Generated documents; each topic has its own words. A question uses words of one topic, and the whole text of the documents of that topic is the answer.'
        : 'The passages that answer each question are marked in the documents. One collection contains all documents.',
      '`top-snippets` with default settings. Every character counts: recall is the share of marked characters that the snippets contain, precision the share of snippet characters that are marked, overlap the intersection divided by the union.',
    ],
    tables: [
      {
        title: `${name}: ${documents.length} documents, ${questions} questions`,
        columns: [
          { key: 'way', heading: 'options', unit: null, digits: 0 },
          { key: 'count', heading: 'snippets', unit: null, digits: 0 },
          percent('recall'),
          percent('precision'),
          percent('overlap'),
          { key: 'characters', heading: 'characters', unit: null, digits: 0 },
        ],
        rows: rows.map(({ recall, precision, overlap, ...row }) => ({
          ...row,
          recall: 100 * recall,
          precision: 100 * precision,
          overlap: 100 * overlap,
        })),
      },
    ],
    charts: [],
    notes: [
      options.passages === null
        ? 'Generated text only shows that nothing is broken. To measure the quality on real questions, pass marked passages with --passages.'
        : 'Most passages are shorter than a snippet, so precision and overlap are far below 100 % even if every passage is found.',
    ],
    figures: rows.flatMap(({ way, count, recall, overlap }): Figure[] => [
      { name: `${way}, ${count} snippets: recall`, unit: '%', better: 'more', values: [100 * recall] },
      { name: `${way}, ${count} snippets: overlap`, unit: '%', better: 'more', values: [100 * overlap] },
    ]),
    measured: rows,
  };
}
