import type { CollectionIndex, FilterNode } from '../../src/index/collection-index.ts';
import type { Test } from '../support/tap.ts';
import {
  createTemporaryFolder,
  indexQuery,
  makeDocument,
  openIndex,
  randomClusters,
  seededRandom,
} from './samples.ts';

const clusters = 60;
const rowsPerDocument = 10;
const documentsPerBatch = 50;

interface FilterCase {
  readonly title: string;
  readonly filter: FilterNode | null;
  /** Whether the document with this number matches. */
  readonly matches: (document: number) => boolean;
}

/** Clustered rows, queries with their nearest rows under filters, and indexes with the rows. */
export class RecallSample {
  readonly dimensions = 64;
  readonly nearestCount = 10;
  readonly rows: readonly Float32Array[];
  readonly queries: readonly Float32Array[];
  readonly cases: readonly FilterCase[];
  /** Nearest rows by case and query. */
  readonly nearest: readonly (readonly Set<number>[])[];
  readonly #folder = createTemporaryFolder();
  readonly #test: Test;
  readonly #documents: number;

  /** `rowCount`: a multiple of 500. */
  constructor(t: Test, rowCount: number) {
    const vectors = randomClusters(this.dimensions, clusters, seededRandom(2));
    this.#test = t;
    this.#documents = rowCount / rowsPerDocument;
    this.rows = Array.from({ length: rowCount }, (_, row) =>
      vectors(Math.floor(row / rowsPerDocument) % clusters),
    );
    this.queries = Array.from({ length: 60 }, () => vectors());
    this.cases = this.#createCases();
    const nearestByQuery = this.queries.map((vector) => this.#findNearest(vector));
    this.nearest = this.cases.map((_, i) => nearestByQuery.map((byCase) => byCase[i]!));
    t.teardown(this.#folder.remove);
  }

  /** New index with all rows, closed at the end of the test. */
  async openFilledIndex(shards: number): Promise<CollectionIndex> {
    const { dimensions } = this;
    const index = await openIndex(`${this.#folder.path}/${shards}`, { dimensions, shards });
    this.#test.teardown(() => index.close());
    for (let start = 0; start < this.#documents; start += documentsPerBatch) {
      const batch = Array.from({ length: documentsPerBatch }, (_, i) => start + i);
      await Promise.all(batch.map((document) => index.stage(this.#makeDocument(document, shards))));
      for (const document of batch)
        index.commit({ sequence: document, shard: document % shards, add: document });
    }
    return index;
  }

  /** Nearest rows found by the index, and the strategies of its shards. */
  async search(
    index: CollectionIndex,
    vector: Float32Array,
    options: { filter?: FilterNode | null; ef?: number },
  ) {
    const hits = await index.search(indexQuery({ vector, vectorCandidates: this.nearestCount, ...options }));
    const found = Array.from(hits.version, (version, i) => version * rowsPerDocument + (hits.chunk[i] ?? 0));
    return { found: new Set(found), strategies: hits.shards.map(({ strategy }) => strategy) };
  }

  /** Recall of the rows found for each query in the case with this number. */
  recallOf(found: readonly Set<number>[], caseNumber: number): number {
    let hits = 0;
    let all = 0;
    this.nearest[caseNumber]!.forEach((rowsWanted, i) => {
      all += rowsWanted.size;
      for (const row of rowsWanted) if (found[i]?.has(row)) hits++;
    });
    return hits / all;
  }

  #createCases(): FilterCase[] {
    const below = (attribute: string, value: string): FilterNode => ({
      kind: 'compare',
      attribute,
      operator: 'lt',
      value,
    });
    const spreads = [75, 50, 10, 1, 0.1].map((percent) => {
      const bound = String((this.#documents * percent) / 100).padStart(4, '0');
      return {
        title: `a filter of ${percent} %`,
        filter: below('spread', bound),
        matches: (document: number) => this.#spreadOf(document) < bound,
      };
    });
    const ofClusters = ['45', '30', '06', '01'].map((bound) => ({
      title: `a filter that only ${Number(bound)} of ${clusters} clusters pass`,
      filter: below('cluster', bound),
      matches: (document: number) => clusterOf(document) < bound,
    }));
    return [{ title: 'no filter', filter: null, matches: () => true }, ...spreads, ...ofClusters];
  }

  /** Permutes the numbers of the documents evenly over the documents. */
  #spreadOf(document: number): string {
    return String((document * 7919) % this.#documents).padStart(4, '0');
  }

  #makeDocument(document: number, shards: number) {
    const rows = this.rows.slice(document * rowsPerDocument, (document + 1) * rowsPerDocument);
    const attributes = { spread: this.#spreadOf(document), cluster: clusterOf(document) };
    return makeDocument({ shard: document % shards, version: document }, rows, attributes);
  }

  /** Nearest rows of a vector by case. */
  #findNearest(vector: Float32Array): Set<number>[] {
    const similarities = this.rows.map((row) => dot(vector, row));
    const nearestFirst = this.rows
      .map((_, row) => row)
      .sort((left, right) => similarities[right]! - similarities[left]!);
    return this.cases.map(({ matches }) => {
      const nearest = new Set<number>();
      for (const row of nearestFirst) {
        if (matches(Math.floor(row / rowsPerDocument))) nearest.add(row);
        if (nearest.size === this.nearestCount) break;
      }
      return nearest;
    });
  }
}

/** Cluster of all rows of a document. */
function clusterOf(document: number): string {
  return String(document % clusters).padStart(2, '0');
}

function dot(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < left.length; i++) sum += (left[i] ?? 0) * (right[i] ?? 0);
  return sum;
}

/** Tests the recall of an index at default settings in every case. */
export async function checkRecall(t: Test, sample: RecallSample, index: CollectionIndex): Promise<void> {
  const strategies = new Set<string>();
  for (const [i, { title, filter }] of sample.cases.entries()) {
    const answers = await Promise.all(
      sample.queries.map((vector) => sample.search(index, vector, { filter })),
    );
    for (const answer of answers) for (const strategy of answer.strategies) strategies.add(strategy);
    const found = answers.map((answer) => answer.found);
    const recall = sample.recallOf(found, i);
    t.ok(recall >= 0.95, `${title}: ${recall.toFixed(4)}`);
  }
  if (index.shards.length === 1)
    t.ok(strategies.has('graph') && strategies.has('filtered-graph'), 'graphs were searched');
}

/** Recall without a filter at ef 20. */
export async function recallAtEf20(sample: RecallSample, index: CollectionIndex): Promise<number> {
  const answers = await Promise.all(sample.queries.map((vector) => sample.search(index, vector, { ef: 20 })));
  return sample.recallOf(
    answers.map(({ found }) => found),
    0,
  );
}
