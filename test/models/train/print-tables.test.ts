import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from '../../support/tap.ts';

const program = fileURLToPath(new URL('../../../models/train/print-tables.js', import.meta.url));
/** Without NODE_OPTIONS: the test runner would inject its loaders into the program. */
const run = (...words: readonly string[]) =>
  promisify(execFile)('env', ['-u', 'NODE_OPTIONS', process.execPath, program, ...words]);

const lines = (records: readonly object[]) => records.map((record) => JSON.stringify(record)).join('\n');
const way = (name: string, ndcg: number, recall: number) => ({
  name,
  ndcg_at_10: { mean: ndcg, margin: null },
  recall_at_100: { mean: recall, margin: null },
});
const ways = [
  way('no reranker', 0.9, 1),
  way('zerank-2', 0.8, 1),
  way('lexical only', 0.7, 0.95),
  way('vector only', 0.6, 0.85),
  way('no reranker, latency high', 0.91, 0.99),
  way('zerank-2, latency high', 0.81, 0.99),
];
const corpus = [
  { _id: 'd1', text: 'herrings in a barrel' },
  { _id: 'd2', text: 'the tide' },
];
const set = {
  'corpus.jsonl': lines(corpus),
  'queries.jsonl': lines([{ _id: 'q1', text: 'a herring' }]),
  qrels: { 'test.tsv': 'query-id\tcorpus-id\tscore\nq1\td1\t1' },
};

t.test('measured results are printed beside plain BM25, with the mean of the sets', async (t) => {
  const results = { sets: ['one', 'two'].map((name) => ({ name, questions: 1, ways })) };
  const folder = t.testdir({ one: set, two: structuredClone(set), 'results.json': JSON.stringify(results) });
  const file = join(folder, 'results.json');
  const { stdout } = await run('--eval', folder, file);
  const measured = '0.7000 | 0.6000 | 0.9000 | 0.9100 | 0.8000 | 0.8100 |';
  t.match(stdout, `| one | 1 | 1.0000 | ${measured}`);
  t.match(stdout, `| **mean of 2** | 2 | 1.0000 | ${measured}`);
  t.match(stdout, '| two | 1 | 1.0000 | 0.9500 | 0.8500 | 1.0000 | 0.9900 |');
});

t.test('a missing configuration and an unknown analyzer are rejected with a reason', async (t) => {
  const results = { sets: [{ name: 'one', questions: 1, ways: ways.slice(0, 2) }] };
  const folder = t.testdir({ one: set, 'results.json': JSON.stringify(results) });
  const file = join(folder, 'results.json');
  await t.rejects(run('--eval', folder, file), /was it made with --compare/);
  await t.rejects(run('--eval', folder, '--terms', 'x', file), /porter, plain/);
});
