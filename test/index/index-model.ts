import {
  type CollectionIndex,
  type FilterNode,
  IndexError,
  type StagedDocument,
} from '../../src/index/collection-index.ts';
import {
  type CheckedAnswer,
  descending,
  ExpectedResult,
  type FilterCase,
  type ModelQuery,
} from './expected-result.ts';
import { ModelSnapshot, type Row, type StoredDocument } from './model-snapshot.ts';
import { indexQuery, makeDocument, type RowTerms, randomClusters } from './samples.ts';

const topics = 10;
const words = 80;
/** Term contained in every row. */
const commonTerm = { hash: 1n, weight: 1, group: 0 };

export interface ModelScale {
  readonly dimensions: number;
  /** Maximum number of rows per document. */
  readonly rowsMax: number;
  /** Target number of visible rows of each shard. */
  readonly shards: readonly number[];
}

function compare(attribute: string, operator: 'eq' | 'ne' | 'lt', value: string): FilterNode {
  return { kind: 'compare', attribute, operator, value };
}

/** Some match most rows and some few. All rows of a document have one topic, and a topic is a vector cluster. */
const filters: readonly FilterCase[] = [
  { filter: null, passes: () => true },
  { filter: compare('color', 'eq', 'red'), passes: ({ color }) => color === 'red' },
  { filter: compare('color', 'eq', 'green'), passes: ({ color }) => color === 'green' },
  { filter: compare('color', 'ne', 'green'), passes: ({ color }) => color !== 'green' },
  { filter: compare('topic', 'lt', '7'), passes: ({ topic }) => topic < '7' },
  {
    filter: { kind: 'and', nodes: [compare('color', 'ne', 'red'), compare('topic', 'eq', '3')] },
    passes: ({ color, topic }) => color !== 'red' && topic === '3',
  },
];

/** Applies the same random changes to a collection and to a plain map, and compares the two. */
export class IndexModel {
  readonly #live = new Map<number, StoredDocument>();
  readonly #staged = new Map<number, StoredDocument>();
  readonly #scale: ModelScale;
  readonly #random: () => number;
  readonly #vectors: (topic?: number) => Float32Array;
  #sequence = 0;
  #versions = 0;

  constructor(scale: ModelScale, random: () => number) {
    this.#scale = scale;
    this.#random = random;
    this.#vectors = randomClusters(scale.dimensions, topics, random);
  }

  /** Sequence number of the last change. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Discards staged documents that are not committed, as closing a collection does. */
  discardStaged(): void {
    this.#staged.clear();
  }

  /** Makes one change: stages, commits, removes, replaces or discards a document. */
  async step(index: CollectionIndex): Promise<void> {
    const choice = this.#random();
    if (choice < 0.45) await this.#stage(index);
    else if (choice < 0.9) this.#commit(index);
    else this.#discard(index);
  }

  /** Runs a random query; its result must be that of the moment of the call, regardless of later changes. */
  async checkQuery(index: CollectionIndex): Promise<CheckedAnswer> {
    const query = this.#randomQuery();
    const snapshot = new ModelSnapshot(this.#live);
    const { passes, ...queryInput } = query;
    const hits = await index.search(indexQuery(queryInput));
    return new ExpectedResult({ ...queryInput, passes }, snapshot).check(hits);
  }

  /** Queries all rows with each filter; returns the first error. */
  async compare(index: CollectionIndex): Promise<string | null> {
    const rows = [...this.#live.values()].reduce((sum, document) => sum + document.rows.length, 0);
    const all = {
      vector: this.#vectors(),
      terms: [commonTerm],
      vectorCandidates: 1e6,
      lexicalCandidates: 1e6,
    };
    for (const { filter, passes } of filters) {
      const hits = await index.search(indexQuery({ ...all, filter }));
      const matching = [...this.#live].filter(([, document]) => passes(document));
      const expectedCount = matching.reduce((sum, [, document]) => sum + document.rows.length, 0);
      const { problem: wrong } = new ExpectedResult(
        { ...all, filter, passes },
        new ModelSnapshot(this.#live),
      ).check(hits);
      if (wrong !== null) return wrong;
      if (hits.count !== expectedCount) return `${hits.count} rows instead of ${expectedCount}`;
      const listed = [...(await index.list(filter, 1e6))].sort(descending).join();
      const versions = matching.map(([version]) => version).sort(descending);
      if (listed !== versions.join()) return `versions ${listed} instead of ${versions}`;
      if (index.count(filter) !== versions.length) return `${index.count(filter)} versions counted`;
    }
    const statistics = index.statistics();
    return statistics.documents === this.#live.size && statistics.rows === rows
      ? null
      : `${statistics.documents} documents and ${statistics.rows} rows instead of ${this.#live.size} and ${rows}`;
  }

  #randomBelow(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #pickRandom<T>(items: Iterable<T>): T | undefined {
    const all = [...items];
    return all[this.#randomBelow(all.length)];
  }

  /** Random shard, weighted by target size. */
  #randomShard(): number {
    const { shards } = this.#scale;
    let remaining = this.#randomBelow(shards.reduce((sum, rows) => sum + rows, 0));
    let shard = 0;
    for (; remaining >= shards[shard]!; shard++) remaining -= shards[shard]!;
    return shard;
  }

  /** Random term of a skewed distribution: a few terms are common and most are rare. */
  #randomTerm(): bigint {
    return 2n + BigInt(Math.floor(words ** this.#random()) - 1);
  }

  #randomRow(topic: number): Row {
    const terms = new Map<bigint, RowTerms[number]>([[commonTerm.hash, [commonTerm.hash, 1, 0]]]);
    for (let count = this.#randomBelow(8); count > 0; count--) {
      const hash = this.#randomTerm();
      const body = this.#randomBelow(4);
      terms.set(hash, [hash, body, body === 0 ? 1 : this.#randomBelow(2)]);
    }
    return { vector: this.#vectors(topic), terms: [...terms.values()] };
  }

  async #stage(index: CollectionIndex): Promise<void> {
    const again = this.#random() < 0.1 ? this.#pickRandom(this.#staged.keys()) : undefined;
    const version = again ?? ++this.#versions;
    const shard = this.#staged.get(version)?.shard ?? this.#randomShard();
    const topic = this.#randomBelow(topics);
    const color = ['red', 'red', 'red', 'green', 'blue'][this.#randomBelow(5)]!;
    const rows = Array.from({ length: this.#randomBelow(this.#scale.rowsMax) }, () => this.#randomRow(topic));
    const attributes = { color, topic: String(topic) };
    const vectors = rows.map(({ vector }) => vector);
    const terms = rows.map((row) => row.terms);
    await stageWithRetry(index, makeDocument({ shard, version }, vectors, attributes, terms));
    this.#staged.set(version, { rows, shard, ...attributes });
  }

  #commit(index: CollectionIndex): void {
    const add = this.#pickRandom(this.#staged.keys());
    const document = add === undefined ? undefined : this.#staged.get(add);
    const shard = document?.shard ?? this.#randomShard();
    const inShard = [...this.#live].filter(([, known]) => known.shard === shard);
    const rows = inShard.reduce((sum, [, known]) => sum + known.rows.length, 0);
    const full = rows >= this.#scale.shards[shard]!;
    const remove = this.#random() < (full ? 0.95 : 0.2) ? this.#pickRandom(inShard)?.[0] : undefined;
    this.#sequence++;
    index.commit({
      sequence: this.#sequence,
      shard,
      ...(add !== undefined && { add }),
      ...(remove !== undefined && { remove }),
    });
    if (remove !== undefined) this.#live.delete(remove);
    if (add === undefined || document === undefined) return;
    this.#live.set(add, document);
    this.#staged.delete(add);
  }

  #discard(index: CollectionIndex): void {
    const version = this.#pickRandom(this.#staged.keys());
    if (version === undefined) return;
    index.discard(this.#staged.get(version)!.shard, version);
    this.#staged.delete(version);
  }

  #randomQuery(): ModelQuery {
    const kind = this.#pickRandom(['near', 'near', 'near', 'lexical', 'both']);
    const count = () => this.#pickRandom([1, 10, 50])!;
    const terms = Array.from({ length: 1 + this.#randomBelow(4) }, (_, i) => ({
      hash: this.#randomTerm(),
      weight: 0.5 + this.#random(),
      group: i >> this.#randomBelow(2),
    }));
    return {
      ...this.#pickRandom(filters)!,
      vector: kind === 'lexical' ? null : this.#vectors(),
      terms: kind === 'near' ? [] : terms,
      vectorCandidates: count(),
      lexicalCandidates: count(),
    };
  }
}

/** Stages a document; retries while a compaction must run first. */
async function stageWithRetry(index: CollectionIndex, document: StagedDocument): Promise<void> {
  for (;;) {
    try {
      await index.stage(document);
      return;
    } catch (error) {
      if (!(error instanceof IndexError) || error.code !== 'busy') throw error;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}
