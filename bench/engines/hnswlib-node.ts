import { join } from 'node:path';
import { peerVersion, requirePeer } from '../peers/peer-packages.ts';
import { LabeledRows } from './labeled-rows.ts';
import {
  type EngineKind,
  type EngineOptions,
  type EngineSearch,
  graphParameters,
  type VectorEngine,
} from './vector-engine.ts';

/** Used subset of the hnswlib-node API. */
interface HierarchicalGraph {
  initIndex(options: {
    maxElements: number;
    m: number;
    efConstruction: number;
    allowReplaceDeleted: boolean;
  }): void;
  addPoint(point: readonly number[], label: number, replaceDeleted?: boolean): void;
  markDelete(label: number): void;
  setEf(ef: number): void;
  searchKnn(
    point: readonly number[],
    count: number,
    filter?: (label: number) => boolean,
  ): { neighbors: number[] };
  readIndexSync(path: string, allowReplaceDeleted: boolean): void;
  writeIndexSync(path: string): void;
}
interface Hnswlib {
  HierarchicalNSW: new (space: 'ip', dimensions: number) => HierarchicalGraph;
}

/** The npm package as published: synchronous, one thread, filters by a JavaScript callback. */
export const hnswlibNode: EngineKind = {
  name: 'hnswlib-node',
  efRange: { min: 10, max: 4_096 },
  filters: true,
  synchronous: true,
  version: () => peerVersion('hnswlib-node'),
  open: async (options) => new HnswlibNode(options),
};

class HnswlibNode implements VectorEngine {
  readonly serverPid = null;
  readonly #graph: HierarchicalGraph;
  readonly #labels = new LabeledRows();
  /** Tags by label. */
  readonly #tags: number[] = [];
  readonly #path: string;
  readonly #dimensions: number;
  #ef = 0;
  /** Whether new rows reuse the slots of deleted rows; set by the first replacement. */
  #replacing = false;

  constructor({ dimensions, rows, directory, load }: EngineOptions) {
    const { HierarchicalNSW } = requirePeer('hnswlib-node') as Hnswlib;
    this.#graph = new HierarchicalNSW('ip', dimensions);
    this.#path = join(directory, 'graph.hnsw');
    this.#dimensions = dimensions;
    if (load) {
      this.#graph.readIndexSync(this.#path, true);
    } else {
      this.#graph.initIndex({
        maxElements: rows,
        m: graphParameters.connections,
        efConstruction: graphParameters.efConstruction,
        allowReplaceDeleted: true,
      });
    }
  }

  async add(first: number, vectors: Float32Array, tags: Uint8Array): Promise<void> {
    this.#addAll(
      Array.from(tags, (_, i) => first + i),
      vectors,
      tags,
    );
  }

  async finish(): Promise<void> {}

  search({ query, count, ef, filter }: EngineSearch): ArrayLike<number> {
    if (ef !== this.#ef) this.#graph.setEf(ef);
    this.#ef = ef;
    const bit = filter === null ? 0 : 1 << filter.bit;
    const accepts = (label: number) => (this.#tags[label]! & bit) !== 0;
    const { neighbors } =
      bit === 0
        ? this.#graph.searchKnn(query.numbers, count)
        : this.#graph.searchKnn(query.numbers, count, accepts);
    return neighbors.map((label) => this.#labels.rowOf(label));
  }

  readonly replace = async (
    rows: readonly number[],
    vectors: Float32Array,
    tags: Uint8Array,
  ): Promise<void> => {
    for (const label of this.#labels.labelsOf(rows)) this.#graph.markDelete(label);
    this.#replacing = true;
    this.#addAll(rows, vectors, tags);
  };

  readonly save = async (): Promise<void> => this.#graph.writeIndexSync(this.#path);

  bytesByPart(): null {
    return null;
  }

  async close(): Promise<void> {}

  #addAll(rows: readonly number[], vectors: Float32Array, tags: Uint8Array): void {
    for (const [i, label] of this.#labels.assignLabels(rows).entries()) {
      this.#tags[label] = tags[i]!;
      const vector = vectors.subarray(i * this.#dimensions, (i + 1) * this.#dimensions);
      this.#graph.addPoint(Array.from(vector), label, this.#replacing);
    }
  }
}
