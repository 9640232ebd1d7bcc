/** Model of a collection as a plain map: random changes to both, and the expected result of every query. */
import {
  type CollectionIndex,
  type FilterNode,
  IndexError,
  type IndexQuery,
  type StagedDocument,
} from '../../src/index/collection-index.ts';
import {
  indexQuery,
  makeDocument,
  openIndex,
  type RowTerms,
  randomClusters,
  seededRandom,
} from './samples.ts';

/** Maximum error of a cosine relative to double precision. */
const cosineTolerance = 1e-5;
/** Maximum relative error of a BM25 score: the engine adds floats. */
const lexicalTolerance = 1e-5;

/** All strategies for finding the nearest rows of a shard. */
export const searchStrategies = ['scan', 'filtered-scan', 'graph', 'filtered-graph'];
/**
 * Minimum mean recall of a run. For graph searches the engine aims at 0.99, with an estimated ef until the collection is
 * calibrated; a scan loses rows that the quantized codes cannot distinguish.
 */
export const recallMin = { graph: 0.9, scan: 0.98 };

// BM25 parameters of native/engine/lexical_search.h.
const saturation = 1.2;
const lengthNorm = 0.6;
const prefixWeight = 0.3;

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

interface Row {
  readonly vector: Float32Array;
  readonly terms: RowTerms;
}

interface StoredDocument {
  readonly rows: readonly Row[];
  readonly color: string;
  readonly topic: string;
  readonly shard: number;
}

interface FilterCase {
  readonly filter: FilterNode | null;
  readonly passes: (document: StoredDocument) => boolean;
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

type Terms = IndexQuery['terms'];

function dot(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < left.length; i++) sum += left[i]! * right[i]!;
  return sum;
}

function lengthOf({ terms }: Row): number {
  return terms.reduce((sum, [, body]) => sum + body, 0);
}

/** Visible documents at one moment; later changes do not affect it. */
class ModelSnapshot {
  readonly documents: ReadonlyMap<number, StoredDocument>;
  readonly #rows: number;
  readonly #lengthMean: number;

  constructor(live: ReadonlyMap<number, StoredDocument>) {
    this.documents = new Map(live);
    const rows = [...live.values()].flatMap((document) => document.rows);
    this.#rows = rows.length;
    this.#lengthMean = rows.reduce((sum, row) => sum + lengthOf(row), 0) / rows.length;
  }

  /** Returns a function that scores a row for these terms. */
  bm25(terms: Terms): (row: Row) => number {
    const groups = [...new Set(terms.map(({ group }) => group))].map((group) => {
      const weights = new Map<bigint, number>();
      for (const { hash, weight } of terms.filter((term) => term.group === group))
        weights.set(hash, Math.max(weight, weights.get(hash) ?? 0));
      let found = 0;
      for (const { rows } of this.documents.values())
        for (const row of rows) if (row.terms.some(([hash]) => weights.has(hash))) found++;
      return { weights, idf: Math.log1p(Math.max(0, this.#rows - found + 0.5) / (found + 0.5)) };
    });
    return (row) => {
      const norm = saturation * (1 - lengthNorm + (lengthNorm * lengthOf(row)) / this.#lengthMean);
      let score = 0;
      for (const { weights, idf } of groups) {
        let best = 0;
        for (const [hash, body, prefix] of row.terms) {
          const frequency = body + prefixWeight * prefix;
          const termScore = ((weights.get(hash) ?? 0) * frequency * (saturation + 1)) / (frequency + norm);
          best = Math.max(best, termScore);
        }
        score += best * idf;
      }
      return score;
    };
  }
}

interface ModelQuery extends FilterCase {
  readonly vector: Float32Array | null;
  readonly terms: Terms;
  readonly vectorCandidates: number;
  readonly lexicalCandidates: number;
}

interface ExpectedScore {
  readonly similarity: number;
  readonly lexical: number;
}

/** Outcome of checking one query. */
interface CheckedAnswer {
  /** First error, with enough detail to reproduce it; null if there is none. */
  readonly problem: string | null;
  /** Search strategy of each shard. */
  readonly strategies: readonly string[];
  /** Recall of the nearest rows; null for queries that also have terms or match no row. */
  readonly recall: number | null;
}

const usesGraph = (strategies: readonly string[]): boolean =>
  strategies.some((strategy) => strategy.endsWith('graph'));
const descending = (left: number, right: number): number => right - left;

/** Expected result of a query on a snapshot, computed by a loop over all rows. */
class ExpectedResult {
  readonly #query: ModelQuery;
  readonly #snapshot: ModelSnapshot;
  /** Matching rows, by version and chunk. */
  readonly #rows = new Map<string, ExpectedScore>();
  readonly #similarities: readonly number[];
  readonly #lexicals: readonly number[];

  constructor(query: ModelQuery, snapshot: ModelSnapshot) {
    this.#query = query;
    this.#snapshot = snapshot;
    const { vector, terms, passes, vectorCandidates, lexicalCandidates } = query;
    const bm25 = snapshot.bm25(terms);
    for (const [version, document] of snapshot.documents) {
      if (!passes(document)) continue;
      for (const [chunk, row] of document.rows.entries()) {
        const similarity = vector === null ? 0 : dot(vector, row.vector);
        this.#rows.set(`${version}:${chunk}`, { similarity, lexical: bm25(row) });
      }
    }
    const rows = [...this.#rows.values()];
    const best = (scores: number[], count: number) => scores.sort(descending).slice(0, count);
    this.#similarities =
      vector === null
        ? []
        : best(
            rows.map(({ similarity }) => similarity),
            vectorCandidates,
          );
    this.#lexicals = best(
      rows.map(({ lexical }) => lexical).filter((lexical) => lexical > 0),
      lexicalCandidates,
    );
  }

  check(hits: Awaited<ReturnType<CollectionIndex['search']>>): CheckedAnswer {
    const strategies = hits.shards.map(({ strategy }) => strategy);
    const found = new Map<string, ExpectedScore>();
    for (let i = 0; i < hits.count; i++) {
      const scores = { similarity: hits.similarity[i]!, lexical: hits.lexical[i]! };
      found.set(`${hits.version[i]}:${hits.chunk[i]}`, scores);
    }
    const recall = this.#recallOf(found);
    const wrong =
      (found.size === hits.count ? null : 'a row stands there twice') ??
      this.#findWrongRow(found) ??
      this.#findWrongCount(found.size) ??
      this.#findWrongOrder(found) ??
      (!usesGraph(strategies) && this.#isExact() && recall < 1
        ? `so few rows are compared exactly, recall ${recall}`
        : null);
    const nearestAlone = this.#query.terms.length === 0 && this.#rows.size > 0;
    return { problem: wrong, strategies, recall: nearestAlone ? recall : null };
  }

  /** Finds a row that does not match, is not visible in the snapshot, or has a wrong score. */
  #findWrongRow(found: ReadonlyMap<string, ExpectedScore>): string | null {
    for (const [name, { similarity, lexical }] of found) {
      const row = this.#rows.get(name);
      if (row === undefined) return `${name} may not be in the answer`;
      if (!(Math.abs(similarity - row.similarity) <= cosineTolerance))
        return `${name}: cosine ${similarity} instead of ${row.similarity}`;
      if (!(Math.abs(lexical - row.lexical) <= lexicalTolerance * row.lexical))
        return `${name}: BM25 ${lexical} instead of ${row.lexical}`;
    }
    return null;
  }

  #findWrongCount(count: number): string | null {
    const [near, lexical] = [this.#similarities.length, this.#lexicals.length];
    const [least, most] = [Math.max(near, lexical), near + lexical];
    return count >= least && count <= most ? null : `${count} rows instead of ${least} to ${most}`;
  }

  /** All of the best rows by BM25 must be present; the nearest may be at most as near as the model's. */
  #findWrongOrder(found: ReadonlyMap<string, ExpectedScore>): string | null {
    const scores = [...found.values()];
    const lexicals = scores.map(({ lexical }) => lexical).sort(descending);
    for (const [rank, lexical] of this.#lexicals.entries())
      if (!(Math.abs(lexicals[rank]! - lexical) <= lexicalTolerance * lexical))
        return `rank ${rank} has BM25 ${lexicals[rank]} instead of ${lexical}`;
    const similarities = scores.map(({ similarity }) => similarity).sort(descending);
    for (const [rank, similarity] of this.#similarities.entries())
      if (!(similarities[rank]! <= similarity + cosineTolerance))
        return `rank ${rank} has cosine ${similarities[rank]}, above ${similarity}`;
    return null;
  }

  #recallOf(found: ReadonlyMap<string, ExpectedScore>): number {
    const last = this.#similarities.at(-1);
    if (last === undefined) return 1;
    let near = 0;
    for (const name of found.keys())
      if ((this.#rows.get(name)?.similarity ?? Number.NEGATIVE_INFINITY) >= last - cosineTolerance) near++;
    return Math.min(1, near / this.#similarities.length);
  }

  /** Whether so few rows of each shard match that the engine compares them by exact cosines. */
  #isExact(): boolean {
    const matching = new Map<number, number>();
    for (const document of this.#snapshot.documents.values())
      if (this.#query.passes(document))
        matching.set(document.shard, (matching.get(document.shard) ?? 0) + document.rows.length);
    return [...matching.values()].every((rows) => rows <= 512);
  }
}

/** Applies the same random changes to a collection and to a plain map, and compares the two. */
class IndexModel {
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

  /** Runs a random query; its result must be that of the moment of the call, whatever changes before it returns. */
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

/** Statistics of a run of changes and queries. */
interface ModelRunResult {
  /** First difference from the model; null if there is none. */
  readonly wrong: string | null;
  /** Number of queries in which some shard used a strategy, by strategy. */
  readonly strategyCounts: ReadonlyMap<string, number>;
  /** Mean recall of queries for the nearest rows alone: of those that searched a graph, and of the others. */
  readonly recall: { readonly walked: number; readonly scanned: number };
}

class RunStatistics implements ModelRunResult {
  wrong: string | null = null;
  readonly strategyCounts = new Map<string, number>();
  readonly #recalls = { walked: [] as number[], scanned: [] as number[] };

  add({ problem: wrong, strategies, recall }: CheckedAnswer): void {
    this.wrong ??= wrong;
    for (const strategy of new Set(strategies))
      this.strategyCounts.set(strategy, (this.strategyCounts.get(strategy) ?? 0) + 1);
    if (recall !== null) this.#recalls[usesGraph(strategies) ? 'walked' : 'scanned'].push(recall);
  }

  get recall(): ModelRunResult['recall'] {
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    return { walked: mean(this.#recalls.walked), scanned: mean(this.#recalls.scanned) };
  }
}

/**
 * Changes a collection at random. Before each change it starts two queries, which may return after the change. Compares
 * the whole state twenty times, and closes and opens the collection four times. Stops at the first error.
 */
export async function runAgainstModel(
  scale: ModelScale,
  options: { directory: string; seed: number; changes: number },
): Promise<ModelRunResult> {
  const { directory, seed, changes } = options;
  const opened = { dimensions: scale.dimensions, shards: scale.shards.length };
  const model = new IndexModel(scale, seededRandom(seed));
  const tally = new RunStatistics();
  let index = await openIndex(directory, opened);
  for (let change = 1; change <= changes && tally.wrong === null; change++) {
    const strategyCounts = [model.checkQuery(index), model.checkQuery(index)];
    await model.step(index);
    for (const answer of strategyCounts) tally.add(await answer);
    if (change % Math.ceil(changes / 4) === 0) {
      const { sequence } = await index.snapshot();
      if (sequence !== model.sequence) tally.wrong ??= `a snapshot of ${sequence}, not of ${model.sequence}`;
      await index.close();
      index = await openIndex(directory, opened);
      if (index.shards.some((shard) => shard.state !== 'loaded' || shard.sequence > model.sequence))
        tally.wrong ??= `opened ${JSON.stringify(index.shards)}`;
      model.discardStaged();
    }
    if (change % Math.ceil(changes / 20) === 0) tally.wrong ??= await model.compare(index);
  }
  await index.close();
  return tally;
}
