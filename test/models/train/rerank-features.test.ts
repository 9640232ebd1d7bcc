import {
  featureCount,
  featureDirections,
  RerankFeatureBuilder,
} from '../../../models/train/rerank-features.ts';
import { TokenVectorTable } from '../../../models/train/token-vector-table.ts';
import { encodeIdfTable, IdfTable } from '../../../src/models/idf-table.ts';
import { WordPiece } from '../../../src/text/wordpiece.ts';
import t from '../../support/tap.ts';

// Three tokens: "car" and "auto" have the same direction, "tree" another.
const pieces = new WordPiece(['[UNK]', 'car', 'auto', 'tree']);
const width = 160;
const table = new Int8Array(4 * width);
table.fill(1, width, 2 * width);
table.fill(2, 2 * width, 3 * width);
for (let i = 3 * width; i < 4 * width; i += 1) table[i] = i % 2 === 0 ? 1 : -1;
const rarities = new Map([
  ['car', 4],
  ['red', 2],
  ['engin', 6],
  ['auto', 4],
  ['tree', 4],
]);
const features = new RerankFeatureBuilder(
  new IdfTable(encodeIdfTable(rarities, 10)),
  new TokenVectorTable(new Uint8Array(table.buffer), width, pieces),
  pieces,
);

type Feature = keyof typeof featureDirections;

function describe(query: string, document: string, cosine = 0): Record<Feature, number> {
  const values = new Float32Array(featureCount);
  features.writeFeatures(features.prepareQuery(query), document, cosine, values, 0);
  return Object.fromEntries(Object.keys(featureDirections).map((name, i) => [name, values[i]])) as Record<
    Feature,
    number
  >;
}

t.test('features of examples have the expected values', async (t) => {
  const far = 'x '.repeat(30);
  const cases: [string, string, Feature, number][] = [
    ['red car engine', 'the red car', 'idfCoverage', 0.5],
    ['red car engine', 'the red car', 'countCoverage', 2 / 3],
    ['red car engine', 'the red car', 'rarestMissing', 0.6],
    ['red car engine', 'the red car', 'rarestMatched', 0.4],
    ['red car engine', 'engines of cars: red', 'allMatched', 1],
    ['red car engine', 'engines of cars: red', 'exactCoverage', 2 / 12],
    ['red car', 'a red car', 'pairCoverage', 1],
    ['red car', 'car red', 'pairCoverage', 0],
    ['red car', 'car red', 'nearPairCoverage', 1],
    ['red car', `red ${far} car`, 'nearPairCoverage', 0],
    ['red and car', 'red and car', 'pairCoverage', 1],
    ['red and car', 'red car', 'pairCoverage', 0],
    ['red car', `red ${far} car`, 'windowCoverage16', 4 / 6],
    ['red car', `red ${far} car`, 'windowCoverage48', 1],
    ['red car', `red ${far} red car`, 'spanDensity', 1],
    ['red car', 'red x car', 'spanDensity', 2 / 3],
    ['red car', `${far} red car`, 'leadCoverage', 0],
    ['car', 'auto', 'softCoverage', 1],
    ['car', 'tree', 'softCoverage', 0],
    ['what is a car', 'what a car', 'functionWordCoverage', 2 / 3],
    ['car 911', 'car 911', 'numberCoverage', 1],
    ['car 911', 'car 912', 'numberMissing', 1],
    ['car', 'tree', 'numberMissing', 0],
  ];
  for (const [query, document, feature, value] of cases) {
    const found = describe(query, document)[feature];
    t.ok(
      Math.abs(found - value) < 1e-5,
      `${feature} of ${query} | ${document.slice(0, 30)}: ${found}, not ${value}`,
    );
  }
});

t.test('a query of function words only is matched by these words', async (t) => {
  t.equal(describe('to be or not to be', 'be or not').countCoverage, 3 / 4);
});

t.test('empty input gives empty output, never NaN', async (t) => {
  for (const [query, document] of [
    ['', ''],
    ['car', ''],
    ['', 'car'],
    ['?!', '...'],
  ] as const) {
    const values = Object.values(describe(query, document));
    t.ok(values.every(Number.isFinite));
    t.equal(describe(query, document).idfCoverage, 0);
  }
});

t.test('further occurrences count less and less; the same number in a longer text counts less', async (t) => {
  const once = describe('car', 'car x x').bm25;
  const twice = describe('car', 'car car x').bm25;
  const thrice = describe('car', 'car car car').bm25;
  t.ok(twice > once && thrice > twice && thrice - twice < twice - once);
  t.ok(describe('car', `car ${'x '.repeat(500)}`).bm25 < once);
});
