import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FeatureExtractor } from '../../models/train/feature-extractor.ts';
import { featureCount, featureDirections } from '../../models/train/rerank-features.ts';
import { projectRoot } from '../../src/core/root.ts';
import { toLightStem } from '../../src/models/light-stem.ts';
import { OnnxSession } from '../../src/models/onnx-session.ts';
import {
  builtInRerankerFolder,
  defaultEmbeddingModel,
  getEmbeddingModel,
  openBuiltInReranker,
} from '../../src/models/registry.ts';
import { createTestRandom } from '../storage/test-random.ts';
import t, { type Test } from '../support/tap.ts';

/** Compares the native reranker with its reference: models/train/rerank-features.ts and the ONNX graph. */

const random = createTestRandom();
const native = await openBuiltInReranker('zerank-2');
const reference = await FeatureExtractor.open(
  getEmbeddingModel(defaultEmbeddingModel).folder,
  join(builtInRerankerFolder, 'rarity.bin'),
);
const network = await OnnxSession.open(join(builtInRerankerFolder, 'model.onnx'));
t.teardown(() => Promise.all([native.close(), reference.close(), network.close()]));

const differenceMax = 1e-5;
const featureNames = Object.keys(featureDirections);

async function compare(t: Test, query: string, documents: readonly string[]): Promise<void> {
  const { features: expected, tokens } = await reference.extract(query, documents);
  const found = native.computeFeatures(query, documents);
  const place = (at: number) =>
    `${JSON.stringify(query.slice(0, 60))} | ${JSON.stringify(documents[Math.floor(at / featureCount)]?.slice(0, 60))} (seed ${random.seed})`;
  for (const [at, value] of expected.entries()) {
    if (Math.abs(value - found[at]!) > differenceMax)
      t.fail(`${featureNames[at % featureCount]} is ${found[at]}, not ${value}: ${place(at)}`);
  }
  const input = { data: expected, shape: [documents.length, featureCount] };
  const expectedScores = await network.run({ features: input }, 'scores');
  const reply = await native.score(query, documents);
  for (const [at, score] of expectedScores.entries()) {
    if (Math.abs(score - reply.scores[at]!) > differenceMax)
      t.fail(`the score is ${reply.scores[at]}, not ${score}: ${place(at * featureCount)}`);
  }
  t.equal(reply.tokens, tokens);
}

/** Returns the paragraphs and the headings of the documentation. */
function readDocumentation(): { paragraphs: string[]; headings: string[] } {
  const folder = join(projectRoot, 'docs');
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.md'),
  );
  const blocks = paths.flatMap((path) => readFileSync(join(folder, path), 'utf8').split('\n\n'));
  return {
    paragraphs: blocks.filter((block) => block.length > 80 && !block.startsWith('#')),
    headings: blocks.filter((block) => block.startsWith('#')),
  };
}

const oddTexts = [
  '',
  ' ',
  '?!...',
  '\ud800 \u0000 😀',
  '\udc00x\ud800',
  '蒸気機関の特許',
  'محرك البخار والمحرك',
  'ไอน้ำของเครื่องยนต์',
  'Ｃafé CAFÉ café naïve Ⅷ ½ ٣ ²',
  '\u0301 \u0301a e\u0301',
  'what is the',
  'to be or not to be',
  'steam—engine “quoted” x_y 3.14 1769',
  'engine '.repeat(3_000),
  'x'.repeat(20_000),
  'é'.repeat(600),
  'running flies stopped ladies buses happily exceedingly repeatedly',
  'abcdefghijklmnop abcdefghijklmnopq abcdefgh ijklmnopqrstuvwx',
  Array.from({ length: 300 }, (_, i) => `word${i} term`).join(' '),
];

t.test('native scores of documentation equal those of the reference', async (t) => {
  const { paragraphs, headings } = readDocumentation();
  t.ok(paragraphs.length > 100 && headings.length > 50);
  for (let round = 0; round < 40; round += 1) {
    const words = paragraphs[random.below(paragraphs.length)]!.split(/\s+/);
    const start = random.below(words.length);
    const query =
      round % 2 === 0
        ? headings[random.below(headings.length)]!
        : words.slice(start, start + 1 + random.below(60)).join(' ');
    const documents = Array.from({ length: 60 }, () => paragraphs[random.below(paragraphs.length)]!);
    await compare(t, query, documents);
  }
});

t.test('unusual texts, each as query and as document', async (t) => {
  for (const query of oddTexts) await compare(t, query, oddTexts);
});

t.test('random texts of all scripts', async (t) => {
  const ranges = [
    [0x20, 0x7e],
    [0x61, 0x7a],
    [0, 0x2ff],
    [0x300, 0x3ff],
    [0xe00, 0xe7f],
    [0x3040, 0x30ff],
    [0x4e00, 0x4fff],
    [0xac00, 0xd7a3],
    [0xd800, 0xdfff],
    [0, 0xffff],
  ] as const;
  const randomText = () => {
    let text = '';
    for (let run = random.below(30); run > 0; run -= 1) {
      const [first, last] = ranges[random.below(ranges.length)]!;
      for (let i = random.below(12); i > 0; i -= 1)
        text += String.fromCharCode(first + random.below(last - first + 1));
    }
    return text;
  };
  for (let round = 0; round < 100; round += 1) {
    const documents = Array.from({ length: 10 }, randomText);
    await compare(t, round % 2 === 0 ? randomText() : documents[0]!.slice(0, 40), documents);
  }
});

t.test('words have the stems of the reference', async (t) => {
  const roots = ['zq', 'zqa', 'zqav', 'zqatt', 'zqall', 'zqe', 'zqy', 'zqs', 'zqss', 'zqus', 'zqx', 'zqch'];
  const endings = [
    '',
    's',
    'es',
    'ies',
    'ing',
    'ingly',
    'ed',
    'edly',
    'ly',
    'e',
    'y',
    'ys',
    'sses',
    'zes',
    '1',
  ];
  const words = roots.flatMap((root) => endings.map((ending) => root + ending));
  const coverage = featureNames.indexOf('idfCoverage');
  for (const left of words) {
    const features = native.computeFeatures(left, words);
    for (const [at, right] of words.entries()) {
      const found = features[at * featureCount + coverage]! > 0.99;
      const expected = toLightStem(left) === toLightStem(right);
      if (found !== expected) t.fail(`${left} and ${right}: ${found}`);
    }
  }
  t.pass(`${words.length ** 2} pairs`);
});

t.test('calls in parallel, urgent and not, each get their own scores', async (t) => {
  const { paragraphs, headings } = readDocumentation();
  const calls = headings.slice(0, 40).map((query, i) => ({ query, documents: paragraphs.slice(i, i + 80) }));
  const alone = [];
  for (const { query, documents } of calls) alone.push((await native.score(query, documents)).scores);
  const together = await Promise.all(
    calls.map(({ query, documents }, i) =>
      native.scoreAt(i % 3 === 0 ? 'background' : 'urgent', query, documents),
    ),
  );
  t.same(
    together.map(({ scores }) => scores),
    alone,
  );
});
