import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import { CollectionIndex, type FilterNode, IndexError } from '../../src/index/collection-index.ts';
import { PeerMissingError } from '../peers/peer-packages.ts';
import { filters, type TagFilter } from '../vectors/tags.ts';
import { LabeledRows } from './labeled-rows.ts';
import type { EngineKind, EngineOptions, EngineSearch, VectorEngine } from './vector-engine.ts';

const stagingConcurrencyMax = 64;
const searchMsMax = 60_000;
const settleMsMax = 120_000;
const busyRetryMs = 10;
const collectionId = 'bench';
const fallbackKernels = 'avx2';

/** A TermBlock of one row without words; see src/text/terms.ts. */
const noTerms = Uint8Array.from([0x51, 0x54, 0x42, 0x31, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

/** Quarry's engine through its public API: one shard, each row a document of its own. */
export const quarry: EngineKind = {
  name: 'quarry',
  efRange: { min: 10, max: 4_096 },
  filters: true,
  synchronous: false,
  version: () => versionWith(CollectionIndex.supportedKernels().at(-1)!),
  open: (options) => QuarryEngine.open(options),
};

/** Same as `quarry` with the setting engineKernels at avx2, as on a processor that supports only AVX2. */
export const quarryAvx2: EngineKind = {
  ...quarry,
  name: 'quarry (avx2)',
  version: () => {
    const runnable = CollectionIndex.supportedKernels();
    if (runnable.includes(fallbackKernels)) return versionWith(fallbackKernels);
    throw new PeerMissingError(`this processor does not run ${fallbackKernels}, only ${runnable.join(', ')}`);
  },
  open: (options) => {
    CollectionIndex.useKernels(fallbackKernels);
    return QuarryEngine.open(options);
  },
};

function versionWith(kernels: string): string {
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    version: string;
  };
  return `${version}, kernels ${kernels}`;
}

class QuarryEngine implements VectorEngine {
  readonly serverPid = null;
  readonly #index: CollectionIndex;
  readonly #dimensions: number;
  /** Labels of rows; the version of a row is its label plus 1. */
  readonly #labels = new LabeledRows();
  readonly #attributesOf = new Map<number, Record<string, string>>();
  #sequence = 0;

  static async open({ dimensions, directory, load }: EngineOptions): Promise<QuarryEngine> {
    const index = await CollectionIndex.open({ collectionId, dimensions, shards: 1, directory });
    const [shard] = index.shards;
    if (load && shard?.state !== 'loaded') throw new Error(`The shard was not loaded: ${shard?.reason}`);
    return new QuarryEngine(index, dimensions);
  }

  private constructor(index: CollectionIndex, dimensions: number) {
    this.#index = index;
    this.#dimensions = dimensions;
  }

  async add(first: number, vectors: Float32Array, tags: Uint8Array): Promise<void> {
    await this.#stageAll(
      Array.from(tags, (_, i) => first + i),
      vectors,
      tags,
    );
  }

  async finish(): Promise<void> {
    const until = performance.now() + settleMsMax;
    for (let dead = Number.NaN; performance.now() < until; ) {
      const now = this.#index.statistics().deadRows;
      if (now === dead) return;
      dead = now;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async search({ query, count, ef, filter }: EngineSearch): Promise<ArrayLike<number>> {
    const hits = await this.#index.search({
      vector: query.vector,
      terms: [],
      filter: filter === null ? null : filterNodes[filters.indexOf(filter)]!,
      vectorCandidates: count,
      lexicalCandidates: 0,
      ef,
      deadlineMs: searchMsMax,
    });
    const rows = new Array<number>(hits.count);
    for (let i = 0; i < hits.count; i++) rows[i] = this.#labels.rowOf(hits.version[i]! - 1);
    return rows;
  }

  readonly replace = (rows: readonly number[], vectors: Float32Array, tags: Uint8Array): Promise<void> =>
    this.#stageAll(rows, vectors, tags);

  readonly save = async (): Promise<void> => {
    await this.#index.snapshot();
  };

  bytesByPart(): Record<string, number> {
    return this.#index.statistics().bytes;
  }

  close(): Promise<void> {
    return this.#index.close();
  }

  async #stageAll(rows: readonly number[], vectors: Float32Array, tags: Uint8Array): Promise<void> {
    let next = 0;
    const lane = async () => {
      for (let i = next++; i < rows.length; i = next++) {
        await this.#stage(
          rows[i]!,
          vectors.slice(i * this.#dimensions, (i + 1) * this.#dimensions),
          tags[i]!,
        );
      }
    };
    await Promise.all(Array.from({ length: stagingConcurrencyMax }, lane));
  }

  async #stage(row: number, vectors: Float32Array, tag: number): Promise<void> {
    const replaced = this.#labels.labelOf(row);
    const version = this.#labels.assignLabels([row])[0]! + 1;
    const attributes = this.#attributes(tag);
    await retryWhileBusy(() => this.#index.stage({ shard: 0, version, vectors, terms: noTerms, attributes }));
    this.#index.commit({
      sequence: ++this.#sequence,
      shard: 0,
      add: version,
      ...(replaced === undefined ? {} : { remove: replaced + 1 }),
    });
  }

  #attributes(tag: number): Record<string, string> {
    let known = this.#attributesOf.get(tag);
    if (known === undefined) {
      const set = filters.filter(({ bit }) => (tag & (1 << bit)) !== 0);
      known = Object.fromEntries(set.map((filter) => [attributeName(filter), 'yes']));
      this.#attributesOf.set(tag, known);
    }
    return known;
  }
}

/** Retries until the shard, which may be compacting, accepts the change. */
async function retryWhileBusy(stage: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await stage();
      return;
    } catch (error) {
      if (!(error instanceof IndexError) || error.code !== 'busy') throw error;
      await new Promise((resolve) => setTimeout(resolve, busyRetryMs));
    }
  }
}

function attributeName({ bit }: TagFilter): string {
  return `tag${bit}`;
}

const filterNodes: readonly FilterNode[] = filters.map((filter) => ({
  kind: 'compare',
  attribute: attributeName(filter),
  operator: 'eq',
  value: 'yes',
}));
