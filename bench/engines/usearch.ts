import { join } from 'node:path';
import { peerVersion, requirePeer } from '../peers/peer-packages.ts';
import {
  type EngineKind,
  type EngineOptions,
  type EngineSearch,
  graphParameters,
  type VectorEngine,
} from './vector-engine.ts';

/** Used subset of the usearch API. */
interface UsearchIndex {
  add(keys: BigUint64Array, vectors: Float32Array, threads: number): void;
  search(vector: Float32Array, count: number, threads: number): { readonly keys: BigUint64Array };
  save(path: string): void;
  load(path: string): void;
}
interface Usearch {
  Index: new (options: {
    dimensions: number;
    metric: 'ip';
    quantization: 'f32';
    connectivity: number;
    expansion_add: number;
    expansion_search: number;
    multi: false;
  }) => UsearchIndex;
}

/** usearch with 32-bit floats. Its JavaScript binding has no filters. */
export const usearch: EngineKind = {
  name: 'usearch',
  efRange: { min: 10, max: 4_096 },
  filters: false,
  synchronous: true,
  version: () => peerVersion('usearch'),
  open: async (options) => new UsearchEngine(options),
};

const efDefault = 64;

class UsearchEngine implements VectorEngine {
  readonly serverPid = null;
  readonly replace = null;
  readonly #dimensions: number;
  readonly #path: string;
  #index: UsearchIndex;
  #ef = efDefault;

  constructor({ dimensions, directory, load }: EngineOptions) {
    this.#dimensions = dimensions;
    this.#path = join(directory, 'usearch.index');
    this.#index = this.#open(efDefault, load);
  }

  async add(first: number, vectors: Float32Array, tags: Uint8Array): Promise<void> {
    this.#index.add(
      BigUint64Array.from(tags, (_, i) => BigInt(first + i)),
      vectors,
      1,
    );
  }

  /** Saves the index to a file, because ef is fixed when an index is opened: the file is reopened for each ef. */
  async finish(): Promise<void> {
    this.#index.save(this.#path);
  }

  search({ query, count, ef }: EngineSearch): ArrayLike<number> {
    if (ef !== this.#ef) {
      this.#index = this.#open(ef, true);
      this.#ef = ef;
    }
    return Array.from(this.#index.search(query.vector, count, 1).keys, Number);
  }

  readonly save = async (): Promise<void> => this.#index.save(this.#path);

  bytesByPart(): null {
    return null;
  }

  async close(): Promise<void> {}

  #open(ef: number, load: boolean): UsearchIndex {
    const { Index } = requirePeer('usearch') as Usearch;
    const index = new Index({
      dimensions: this.#dimensions,
      metric: 'ip',
      quantization: 'f32',
      multi: false,
      connectivity: graphParameters.connections,
      expansion_add: graphParameters.efConstruction,
      expansion_search: ef,
    });
    if (load) index.load(this.#path);
    return index;
  }
}
