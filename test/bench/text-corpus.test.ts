import { execFileSync, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readCorpusFile } from '../../bench/harness/corpus-file.ts';
import { readCommandLine } from '../../bench/harness/options.ts';
import { BenchProgress } from '../../bench/harness/progress.ts';
import { openCorpus, RepeatedDocuments } from '../../bench/harness/text-corpus.ts';
import t from '../support/tap.ts';
import { writeJudgedFolder } from './judged-folder.ts';

function open(words: readonly string[]) {
  const options = readCommandLine(words).optionsFor('--documents 7 --questions 5');
  return openCorpus({ options, progress: new BenchProgress(), signal: new AbortController().signal });
}

const articles = [
  {
    id: 12,
    title: 'Anarchism',
    sections: [
      [null, ['First.', 'Second.']],
      ['History', ['Third.']],
    ],
  },
  { id: 13, title: 'Empty', text: '' },
  { _id: 'x', text: 'Plain text.' },
];
const articleLines = articles.map((article) => `${JSON.stringify(article)}\n`).join('');
const articleRecords = [
  { id: '12', text: 'Anarchism\nFirst.\n\nSecond.\n\nHistory\n\nThird.' },
  { id: '13', text: 'Empty\n' },
  { id: 'x', text: 'Plain text.' },
];

t.test('without --judged the corpus is generated', async (t) => {
  const { corpus, source, context } = await open([]);
  t.equal(corpus.documents, 7);
  t.equal(source.name, 'generated');
  t.same(context.options.documents, [7]);
});

t.test('--judged reads the documents and the judged queries of a folder', async (t) => {
  const folder = t.testdir();
  await writeJudgedFolder(folder, 8);
  const { corpus, source, context } = await open(['--judged', folder, '--limit', '6']);
  t.equal(corpus.documents, 6, '--limit takes the first documents');
  t.match(corpus.document(0), { path: 'd0', text: /^About rivers of region 0\nA report on/ });
  t.equal(corpus.question(0), 'what is known of rivers of region 0');
  t.equal(corpus.question(5), corpus.question(0), 'five of eight questions, evenly spaced');
  t.same([context.options.documents, context.options.questions], [[6], 5]);
  t.match(source.description, /6 documents .* 5 different questions/);
  t.notMatch(source.description, folder, 'the report contains no path');
  t.equal((await open(['--judged', folder])).corpus.documents, 8, 'empty documents are skipped');
});

t.test('--corpus replaces the documents and keeps the queries', async (t) => {
  const folder = t.testdir({ 'articles.jsonl': articleLines });
  await writeJudgedFolder(join(folder, 'set'), 3);
  const { corpus } = await open([
    '--judged',
    join(folder, 'set'),
    '--corpus',
    join(folder, 'articles.jsonl'),
  ]);
  t.same([corpus.documents, corpus.document(0).path], [3, '12']);
  t.equal(corpus.question(0), 'what is known of rivers of region 0');
  await t.rejects(open(['--corpus', 'articles.jsonl']), /--corpus requires --judged/);
});

t.test('a folder with several sets, and one without a set, are rejected', async (t) => {
  const folder = t.testdir();
  await writeJudgedFolder(join(folder, 'a'), 2);
  t.equal((await open(['--judged', folder])).source.name, 'a');
  await writeJudgedFolder(join(folder, 'b'), 2);
  await t.rejects(open(['--judged', folder]), /contains 2 sets; specify the folder of one set/);
  await t.rejects(open(['--judged', join(folder, 'a', 'qrels')]), /No corpus\.jsonl found/);
});

t.test('a corpus file has texts or sections, one object per line', async (t) => {
  const path = join(t.testdir({ 'articles.jsonl': articleLines }), 'articles.jsonl');
  t.same(await readCorpusFile(path, null), articleRecords);
  t.same(await readCorpusFile(path, 1), articleRecords.slice(0, 1));
  await t.rejects(readCorpusFile(`${path}.none`, null), /cannot be read: ENOENT/);
  for (const [line, problem] of [
    ['{', /line 2: not JSON/],
    ['{"text":"a"}', /line 2: "_id" or "id" must be a string/],
    ['{"id":"a"}', /line 2: "text" must be a string, or "sections"/],
  ] as const) {
    await writeFile(path, `{"id":"1","text":"a"}\n${line}\n`);
    await t.rejects(readCorpusFile(path, null), problem);
  }
  await writeFile(path, '{"id":"1","text":""}\n');
  await t.rejects(readCorpusFile(path, null), /contains no document with text/);
});

const hasXz = spawnSync('xz', ['--version']).status === 0;

t.test('a file that ends in .xz is decompressed', { skip: hasXz ? false : 'no xz' }, async (t) => {
  const path = join(t.testdir({ 'articles.jsonl': articleLines }), 'articles.jsonl');
  execFileSync('xz', [path]);
  t.same(await readCorpusFile(`${path}.xz`, null), articleRecords);
  t.same(await readCorpusFile(`${path}.xz`, 2), articleRecords.slice(0, 2));
  await writeFile(`${path}.xz`, 'no archive');
  await t.rejects(readCorpusFile(`${path}.xz`, null), /xz cannot read .*format not recognized/i);
});

t.test('without the command xz, the error names it and the remedy', async (t) => {
  const path = join(t.testdir({ 'a.jsonl.xz': '' }), 'a.jsonl.xz');
  const searchPath = process.env.PATH;
  process.env.PATH = t.testdirName;
  t.teardown(() => {
    process.env.PATH = searchPath;
  });
  await t.rejects(readCorpusFile(path, null), /command "xz" is not installed\. Install it .*\.jsonl file/);
});

t.test('documents that are added repeatedly have a different path each time', async (t) => {
  const folder = t.testdir();
  await writeJudgedFolder(folder, 4);
  const { corpus } = await open(['--judged', folder]);
  const added = new RepeatedDocuments(corpus, 2);
  t.same(
    [0, 1, 2, 3, 4].map((i) => added.document(i).path),
    ['0/d2', '0/d3', '1/d2', '1/d3', '2/d2'],
  );
  t.equal(added.document(2).text, corpus.document(2).text);
});
