import hnswlib from 'hnswlib-node';
import t from 'tap';
import type { CollectionIndex, FilterNode } from '../../src/index/collection-index.ts';
import {
  createTemporaryFolder,
  indexQuery,
  makeDocument,
  openIndex,
  randomClusters,
  seededRandom,
} from './samples.ts';

const dimensions = 64;
const clusters = 60;
const rowCount = 20_000;
const rowsPerDocument = 10;
const nearestCount = 10;

const folder = createTemporaryFolder();
t.teardown(folder.remove);
const random = seededRandom(2);
const vectors = randomClusters(dimensions, clusters, random);
const rows = Array.from({ length: rowCount }, (_, i) => vectors(Math.floor(i / rowsPerDocument) % clusters));
const queries = Array.from({ length: 60 }, () => vectors());

interface FilterCase {
  readonly title: string;
  readonly filter: FilterNode | null;
  /** Whether the document with this number matches. */
  readonly matches: (document: number) => boolean;
}

function randomBelow(attribute: string, bound: string): FilterNode {
  return { kind: 'compare', attribute, operator: 'lt', value: bound };
}

// `spread` permutes the numbers 0000 to 1999 evenly over the documents; `cluster` is the cluster of all their rows.
const spreadOf = (document: number) => String((document * 7919) % 2000).padStart(4, '0');
const clusterOf = (document: number) => String(document % clusters).padStart(2, '0');
const cases: FilterCase[] = [
  { title: 'no filter', filter: null, matches: () => true },
  ...['1500', '1000', '0200', '0020', '0002'].map((bound) => ({
    title: `a filter of ${Number(bound) / 20} %`,
    filter: randomBelow('spread', bound),
    matches: (document: number) => spreadOf(document) < bound,
  })),
  ...['45', '30', '06', '01'].map((bound) => ({
    title: `a filter that only ${Number(bound)} of ${clusters} clusters pass`,
    filter: randomBelow('cluster', bound),
    matches: (document: number) => clusterOf(document) < bound,
  })),
];

function dot(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < left.length; i++) sum += (left[i] ?? 0) * (right[i] ?? 0);
  return sum;
}

function exactNearest(vector: Float32Array, matches: (document: number) => boolean): Set<number> {
  const all: { row: number; similarity: number }[] = [];
  rows.forEach((row, i) => {
    if (matches(Math.floor(i / rowsPerDocument))) all.push({ row: i, similarity: dot(vector, row) });
  });
  all.sort((left, right) => right.similarity - left.similarity);
  return new Set(all.slice(0, nearestCount).map(({ row }) => row));
}

function recallOf(found: readonly Set<number>[], expected: readonly Set<number>[]): number {
  let hits = 0;
  let all = 0;
  expected.forEach((rowsWanted, i) => {
    all += rowsWanted.size;
    for (const row of rowsWanted) if (found[i]?.has(row)) hits++;
  });
  return hits / all;
}

const truth = cases.map(({ matches }) => queries.map((vector) => exactNearest(vector, matches)));

async function fill(index: CollectionIndex, shards: number): Promise<void> {
  for (let start = 0; start < rowCount; start += rowsPerDocument * 50) {
    const batch: Promise<void>[] = [];
    for (let row = start; row < start + rowsPerDocument * 50; row += rowsPerDocument) {
      const document = row / rowsPerDocument;
      const attributes = { spread: spreadOf(document), cluster: clusterOf(document) };
      const location = { shard: document % shards, version: document };
      batch.push(index.stage(makeDocument(location, rows.slice(row, row + rowsPerDocument), attributes)));
    }
    await Promise.all(batch);
    for (let row = start; row < start + rowsPerDocument * 50; row += rowsPerDocument) {
      const document = row / rowsPerDocument;
      index.commit({ sequence: document, shard: document % shards, add: document });
    }
  }
}

async function find(index: CollectionIndex, vector: Float32Array, filter: FilterNode | null) {
  const hits = await index.search(indexQuery({ vector, filter, vectorCandidates: nearestCount }));
  const found = Array.from(hits.version, (version, i) => version * rowsPerDocument + (hits.chunk[i] ?? 0));
  return { found: new Set(found), strategies: hits.shards.map(({ strategy }) => strategy) };
}

for (const shards of [1, 8, 64]) {
  t.test(`at default settings, ${shards} shards find 95 of 100 nearest rows under any filter`, async (t) => {
    const index = await openIndex(`${folder.path}/${shards}`, { dimensions, shards });
    await fill(index, shards);
    const strategies = new Set<string>();
    for (const [i, { title, filter }] of cases.entries()) {
      const answers = await Promise.all(queries.map((vector) => find(index, vector, filter)));
      for (const answer of answers) for (const strategy of answer.strategies) strategies.add(strategy);
      const recall = recallOf(
        answers.map(({ found }) => found),
        truth[i] ?? [],
      );
      t.ok(recall >= 0.95, `${title}: ${recall.toFixed(4)}`);
    }
    if (shards === 1)
      t.ok(strategies.has('graph') && strategies.has('filtered-graph'), 'graphs were searched');
    await index.close();
  });
}

t.test('at equal ef the recall of the graph is within 2 % of hnswlib', async (t) => {
  const index = await openIndex(`${folder.path}/parity`, { dimensions });
  await fill(index, 1);
  const peer = new hnswlib.HierarchicalNSW('ip', dimensions);
  peer.initIndex(rowCount, 16, 200, 100);
  rows.forEach((row, i) => {
    peer.addPoint(Array.from(row), i);
  });
  peer.setEf(20);
  const theirs = queries.map((vector) => new Set(peer.searchKnn(Array.from(vector), nearestCount).neighbors));
  const ours = await Promise.all(
    queries.map(async (vector) => {
      const hits = await index.search(indexQuery({ vector, vectorCandidates: nearestCount, ef: 20 }));
      return new Set(
        Array.from(hits.version, (version, i) => version * rowsPerDocument + (hits.chunk[i] ?? 0)),
      );
    }),
  );
  const expected = truth[0] ?? [];
  const [own, other] = [recallOf(ours, expected), recallOf(theirs, expected)];
  t.ok(own >= other - 0.02, `ours ${own.toFixed(4)}, hnswlib ${other.toFixed(4)}`);
  await index.close();
});
