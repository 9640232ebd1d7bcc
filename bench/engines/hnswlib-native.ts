import { join } from 'node:path';
import { requireHnswlibNative } from '../peers/hnswlib-native.ts';
import { peerVersion } from '../peers/peer-packages.ts';
import { LabeledRows } from './labeled-rows.ts';
import {
  type EngineKind,
  type EngineOptions,
  type EngineSearch,
  graphParameters,
  type VectorEngine,
} from './vector-engine.ts';

/** hnswlib's headers compiled for this machine, with filters in C++. */
export const hnswlibNative: EngineKind = {
  name: 'hnswlib (native)',
  efRange: { min: 10, max: 4_096 },
  filters: true,
  synchronous: true,
  version: () => `${requireHnswlibNative().built}, headers of ${peerVersion('hnswlib-node')}`,
  open: async (options) => new HnswlibNative(options),
};

class HnswlibNative implements VectorEngine {
  readonly serverPid = null;
  readonly #index: InstanceType<ReturnType<typeof requireHnswlibNative>['Index']>;
  readonly #labels = new LabeledRows();
  readonly #path: string;

  constructor({ dimensions, rows, directory, load }: EngineOptions) {
    const { Index } = requireHnswlibNative();
    this.#path = join(directory, 'graph.hnsw');
    this.#index = new Index(
      dimensions,
      rows,
      graphParameters.connections,
      graphParameters.efConstruction,
      load ? this.#path : null,
    );
  }

  async add(first: number, vectors: Float32Array, tags: Uint8Array): Promise<void> {
    const labels = this.#labels.assignLabels(Array.from(tags, (_, i) => first + i));
    this.#index.add(labels, vectors, tags, false);
  }

  async finish(): Promise<void> {}

  search({ query, count, ef, filter }: EngineSearch): ArrayLike<number> {
    const labels = this.#index.search(query.vector, count, ef, filter === null ? 0 : 1 << filter.bit);
    return labels.map((label) => this.#labels.rowOf(label));
  }

  readonly replace = async (rows: readonly number[], vectors: Float32Array, tags: Uint8Array) => {
    this.#index.remove(this.#labels.labelsOf(rows));
    this.#index.add(this.#labels.assignLabels(rows), vectors, tags, true);
  };

  readonly save = async (): Promise<void> => this.#index.save(this.#path);

  bytesByPart(): null {
    return null;
  }

  async close(): Promise<void> {}
}
