import { join } from 'node:path';
import { requireHnswlibNative } from '../peers/hnswlib-native.ts';
import { peerVersion } from '../peers/peer-packages.ts';
import { LabelledRows } from './labelled-rows.ts';
import {
  type EngineKind,
  type EngineOptions,
  type EngineSearch,
  graphParameters,
  type VectorEngine,
} from './vector-engine.ts';

/** hnswlib's headers compiled for this machine, filters in C++. */
export const hnswlibNative: EngineKind = {
  name: 'hnswlib (native)',
  efforts: { least: 10, most: 4_096 },
  filters: true,
  synchronous: true,
  version: () => `${requireHnswlibNative().built}, headers of ${peerVersion('hnswlib-node')}`,
  open: async (options) => new HnswlibNative(options),
};

class HnswlibNative implements VectorEngine {
  readonly serverPid = null;
  readonly #index: InstanceType<ReturnType<typeof requireHnswlibNative>['Index']>;
  readonly #labels = new LabelledRows();
  readonly #path: string;

  constructor({ dimensions, rows, directory, load }: EngineOptions) {
    const { Index } = requireHnswlibNative();
    this.#path = join(directory, 'graph.hnsw');
    this.#index = new Index(
      dimensions,
      rows,
      graphParameters.connections,
      graphParameters.buildEffort,
      load ? this.#path : null,
    );
  }

  async add(first: number, vectors: Float32Array, tags: Uint8Array): Promise<void> {
    const labels = this.#labels.label(Array.from(tags, (_, i) => first + i));
    this.#index.add(labels, vectors, tags, false);
  }

  async finish(): Promise<void> {}

  search({ question, count, effort, filter }: EngineSearch): ArrayLike<number> {
    const labels = this.#index.search(question.vector, count, effort, filter === null ? 0 : 1 << filter.bit);
    return labels.map((label) => this.#labels.row(label));
  }

  readonly replace = async (rows: readonly number[], vectors: Float32Array, tags: Uint8Array) => {
    this.#index.remove(this.#labels.labelsOf(rows));
    this.#index.add(this.#labels.label(rows), vectors, tags, true);
  };

  readonly save = async (): Promise<void> => this.#index.save(this.#path);

  bytesByPart(): null {
    return null;
  }

  async close(): Promise<void> {}
}
