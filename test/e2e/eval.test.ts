import { join } from 'node:path';
import { runQuarry } from '../cli/quarry.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { joinSharedServer } from './shared-server.ts';

/** `quarry eval` from the command line against a server. */

t.setTimeout(testFileMsMax);
const { server, key } = await joinSharedServer();
const variables = { QUARRY_URL: server.url, QUARRY_API_KEY: key };
const run = (...words: string[]) => runQuarry(words, { variables });

const subjects = ['glaciers', 'violins', 'volcanoes', 'beehives', 'lighthouses', 'sundials'];
const lines = (values: readonly object[]) => `${values.map((value) => JSON.stringify(value)).join('\n')}\n`;
const set = {
  'corpus.jsonl': lines(
    subjects.map((subject, i) => ({
      _id: `folder/${i}`,
      title: subject,
      text: `All that is known about ${subject}.`,
    })),
  ),
  'queries.jsonl': lines(subjects.map((subject, i) => ({ _id: `q${i}`, text: `what about ${subject}?` }))),
  qrels: {
    'test.tsv': `query-id\tcorpus-id\tscore\n${subjects.map((_, i) => `q${i}\tfolder/${i}\t1\n`).join('')}`,
    // The judged answer of each question is the document of the next question, so it ranks second at best.
    'wrong.tsv': subjects.map((_, i) => `q${i}\tfolder/${(i + 1) % subjects.length}\t1\n`).join(''),
  },
};

interface EvalOutput {
  sets: {
    name: string;
    documents: number;
    questions: number;
    ways: {
      name: string;
      ndcg_at_10: { mean: number; margin: number | null };
      recall_at_100: { mean: number };
    }[];
  }[];
}

await t.test('correct results count as correct, and the collection is deleted afterwards', async (t) => {
  const folder = t.testdir({ subjects: set });
  const ended = await run('eval', join(folder, 'subjects'), '--json');
  t.equal(ended.code, 0, ended.err);
  const [found] = (JSON.parse(ended.out) as EvalOutput).sets;
  t.match(found, { name: 'subjects', documents: 6, questions: 6 });
  t.match(found?.ways, [
    { name: 'no reranker', ndcg_at_10: { mean: 1, margin: 0 }, recall_at_100: { mean: 1 } },
  ]);
  t.match(ended.err, /subjects: 6 documents added/);
  t.equal((await run('collections', 'list', '--json')).out.includes('eval'), false);
});

await t.test(
  'results that contradict the judgments count as wrong; configurations are columns and sets are rows',
  async (t) => {
    const folder = t.testdir({ one: set, two: structuredClone(set) });
    const ended = await run('eval', folder, '--split', 'wrong', '--compare', '--queries', '3');
    t.equal(ended.code, 0, ended.err);
    t.match(ended.out, /Set +Documents +Questions +Configuration +nDCG@10 +MRR@10 +Recall@100 +nDCG gain/);
    for (const variant of [
      ...['no reranker', 'zerank-2', 'lexical only', 'vector only'],
      ...['no reranker, latency high', 'zerank-2, latency high'],
    ]) {
      t.equal(
        ended.out.split('\n').filter((line) => line.includes(` ${variant} `)).length,
        3,
        `${variant}: two sets, mean`,
      );
    }
    const json = await run('eval', join(folder, 'one'), '--split', 'wrong', '--json');
    const mean = (JSON.parse(json.out) as EvalOutput).sets[0]?.ways[0]?.ndcg_at_10.mean ?? 1;
    t.ok(mean < 0.7, `${mean}: the correct result is never first`);
  },
);

await t.test('a named collection is queried unchanged and kept', async (t) => {
  const folder = t.testdir(set);
  const first = await run('eval', folder, '--collection', 'kept');
  t.equal(first.code, 0, first.err);
  const again = await run('eval', folder, '--collection', 'kept', '--reranker', 'zerank-1-small', '--json');
  t.equal(again.code, 0, again.err);
  t.notMatch(again.err, /added/);
  t.match((await run('collections', 'list')).out, /kept/);
});

await t.test('invalid usage is reported before anything is done', async (t) => {
  const folder = t.testdir({ one: set, two: structuredClone(set) });
  const cases: readonly [readonly string[], RegExp][] = [
    [['eval', join(folder, 'gone')], /cannot be read: ENOENT/],
    [['eval', folder, '-c', 'x'], /--collection requires a single set, but .* has 2/],
    [['eval', folder, '--queries', '0'], /--queries is "0"/],
    [['eval', folder, '--split', 'dev'], /dev\.tsv cannot be read/],
  ];
  for (const [words, message] of cases) {
    const ended = await run(...words);
    t.equal(ended.code, 2, words.join(' '));
    t.match(ended.err, message);
  }
  const refused = await run('eval', join(folder, 'one'), '--reranker', 'none-such');
  t.equal(refused.code, 1);
  t.match(refused.err, /none-such/);
  t.notMatch((await run('collections', 'list')).out, /eval/, 'no collection remains');
});
