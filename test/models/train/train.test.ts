import { execFile } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { FeatureReranker } from '../../../src/models/feature-reranker.ts';
import { StaticEmbedder } from '../../../src/models/static-embedder.ts';
import t from '../../support/tap.ts';

const program = fileURLToPath(new URL('../../../models/train/train.js', import.meta.url));
const defaultCompiler = process.env.CXX ?? 'c++';
/** Without NODE_OPTIONS: the test runner would inject its loaders into the recipe. */
const run = (words: readonly string[], compiler = defaultCompiler) =>
  promisify(execFile)('env', ['-u', 'NODE_OPTIONS', `CXX=${compiler}`, process.execPath, program, ...words]);

/** Writes a compiler that compiles once and returns a copy of the result for every later call. */
async function writeCachingCompiler(folder: string): Promise<string> {
  const [file, cached] = [join(folder, 'compiler'), join(folder, 'compiled')];
  const script = [
    '#!/bin/sh',
    'for output; do :; done',
    `if [ -f "${cached}" ]; then exec cp "${cached}" "$output"; fi`,
    `${defaultCompiler} "$@" && cp "$output" "${cached}"`,
  ];
  await writeFile(file, `${script.join('\n')}\n`);
  await chmod(file, 0o755);
  return file;
}

/** Sentence of a small synthetic language: every subject has its own words, and every text has one subject. */
function sentence(subject: number, number: number): string {
  const own = [0, 1, 2, 3].map((i) => `sub${subject}w${(number * 7 + i * 3) % 11}`);
  return `The ${own.join(' and the ')} of matter ${number} are known to all who read about them.`;
}

const articles = 480;
const subjectOf = (article: number): number => article % 40;
const titleOf = (article: number): string =>
  `Topic ${subjectOf(article)} sub${subjectOf(article)}w1 part ${article}`;
const paragraphOf = (article: number, part: number): string =>
  [0, 1, 2, 3].map((i) => sentence(subjectOf(article), article + part * 4 + i)).join(' ');

async function writeSource(folder: string, file: string, line: (article: number) => object): Promise<void> {
  const lines = Array.from({ length: articles }, (_, article) =>
    JSON.stringify({ id: String(article), ...line(article) }),
  );
  await writeFile(join(folder, `${file}.jsonl`), `${lines.join('\n')}\n`);
}

t.test(
  'training produces both models from text, deterministically, and they distinguish subjects',
  async (t) => {
    const data = t.testdir({ data: {}, first: {}, second: {} });
    const folder = join(data, 'data');
    const paragraphs = (article: number): string[] => [paragraphOf(article, 0), paragraphOf(article, 1)];
    await writeSource(folder, 'wikipedia-en', (a) => ({
      title: titleOf(a),
      sections: [[null, paragraphs(a)]],
    }));
    await writeSource(folder, 'wikinews-en', (a) => ({ title: titleOf(a), paragraphs: paragraphs(a) }));
    await writeSource(folder, 'arxiv-title-abstract', (a) => ({
      title: titleOf(a),
      text: paragraphOf(a, 2),
    }));
    await writeSource(folder, 'docs-heading-section', (a) => ({
      title: titleOf(a),
      heading: 'About',
      text: paragraphOf(a, 3),
    }));
    await writeSource(folder, 'medquad-question-answer', (a) => ({
      question: titleOf(a),
      text: paragraphOf(a, 4),
    }));
    const settings = ['--vocabulary', '700', '--steps', '120', '--batch', '64', '--queries', '60'];
    const compiler = await writeCachingCompiler(data);
    for (const out of ['first', 'second']) {
      const words = ['--data', folder, '--out', join(data, out), '--threads', '1', ...settings];
      await run(words, compiler);
    }
    const texts = [sentence(3, 1), sentence(4, 1), sentence(3, 9)];
    const vectors: Float32Array[] = [];
    for (const out of ['first', 'second']) {
      const embedder = await StaticEmbedder.open('test', join(data, out, 'zembed-1'));
      vectors.push((await embedder.embed(texts, 'document')).vectors);
      await embedder.close();
    }
    t.same(vectors[0], vectors[1], 'the same seed produces the same model');
    const row = (index: number): Float32Array => vectors[0]!.subarray(index * 320, (index + 1) * 320);
    const cosine = (a: number, b: number): number =>
      row(a).reduce((sum, value, i) => sum + value * row(b)[i]!, 0);
    t.ok(cosine(0, 2) > cosine(0, 1) + 0.1, 'texts of one subject are similar');
    const reranker = await FeatureReranker.open('test', join(data, 'first', 'zerank'));
    const { scores } = await reranker.score('sub3w1 sub3w4', [sentence(4, 1), sentence(3, 1)]);
    t.ok(scores[1]! > scores[0]!);
    await reranker.close();
  },
);

t.test('without training text, the error names the missing files', async (t) => {
  await t.rejects(run([]), /--data names the folder/);
  await t.rejects(run(['--data', t.testdir(), '--out', t.testdir()]), /has no wikipedia-en/);
});
