import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findJudgedFolders, readJudgedSet, sampleEvenly } from '../../src/eval/judged-set.ts';
import t, { type Test } from '../support/tap.ts';

const corpus = ['{"_id":"d1","title":"Wings","text":"lift"}', '{"_id":"d2","text":"drag"}'];
const queries = ['{"_id":"q1","text":"what lifts?"}', '{"_id":"q2","text":"nobody judged it"}'];
const judgments = ['query-id\tcorpus-id\tscore', 'q1\td1\t2', 'q1\td2\t0', 'q1\tgone\t1'];

function folderOf(t: Test, files: Record<string, readonly string[] | null> = {}): string {
  const folder = t.testdir();
  mkdirSync(join(folder, 'qrels'));
  const all = { 'corpus.jsonl': corpus, 'queries.jsonl': queries, 'qrels/test.tsv': judgments, ...files };
  for (const [name, lines] of Object.entries(all)) {
    if (lines !== null) writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
  }
  return folder;
}

t.test('a judged set is read completely', async (t) => {
  const folder = folderOf(t);
  t.same(await findJudgedFolders(folder), [folder]);
  const set = await readJudgedSet(folder);
  t.same(set.documents, [
    { id: 'd1', text: 'Wings\nlift' },
    { id: 'd2', text: 'drag' },
  ]);
  t.same(set.questions, [{ id: 'q1', text: 'what lifts?', grades: new Map([['d1', 2]]) }]);
  const windows = folderOf(t, { 'qrels/test.tsv': judgments.map((line) => `${line}\r`) });
  t.same((await readJudgedSet(windows)).questions, set.questions, 'lines may end as Windows ends them');
});

t.test('a folder of sets yields all of them', async (t) => {
  const folder = t.testdir({ b: { 'corpus.jsonl': '' }, a: { 'corpus.jsonl': '' }, c: {} });
  t.same(await findJudgedFolders(folder), [join(folder, 'a'), join(folder, 'b')]);
});

t.test('an error names its file and line', async (t) => {
  const wrong: readonly [Record<string, readonly string[] | null>, RegExp][] = [
    [{ 'queries.jsonl': null }, /queries\.jsonl cannot be read: ENOENT/],
    [{ 'corpus.jsonl': [corpus[0]!, 'oops'] }, /corpus\.jsonl, line 2: not JSON/],
    [{ 'corpus.jsonl': [corpus[0]!, corpus[0]!] }, /corpus\.jsonl, line 2: duplicate _id "d1"/],
    [{ 'corpus.jsonl': ['{"_id":1,"text":""}'] }, /line 1: "_id" must be a string/],
    [{ 'corpus.jsonl': ['{"_id":"d1"}'] }, /line 1: "text" must be a string/],
    [{ 'corpus.jsonl': ['null'] }, /line 1: "_id" must be a string/],
    [
      { 'qrels/test.tsv': [...judgments, 'q1 d1 1'] },
      /test\.tsv, line 5: expected: query ID, document ID and grade/,
    ],
    [
      { 'qrels/test.tsv': [judgments[0]!, 'q9\td1\t1'] },
      /contains no judgment for any query in queries\.jsonl/,
    ],
  ];
  for (const [files, message] of wrong) {
    await t.rejects(readJudgedSet(folderOf(t, files)), { code: 'bad_request', message });
  }
  await t.rejects(readJudgedSet(folderOf(t), 'dev'), /qrels.dev\.tsv cannot be read/);
  await t.rejects(findJudgedFolders(t.testdir({ empty: {} })), /BEIR layout/);
  await t.rejects(findJudgedFolders(join(t.testdir(), 'gone')), /cannot be read: ENOENT/);
});

t.test('a subset of questions is spread evenly', async (t) => {
  const all = Array.from({ length: 100 }, (_, i) => i);
  t.same(sampleEvenly(all, 4), [0, 25, 50, 75]);
  t.same(sampleEvenly(all, 1_000), all);
  t.equal(sampleEvenly(all, 7).length, 7);
});
