import { peerVersion, requirePeer } from '../peers/peer-packages.ts';
import { filters, type TagFilter } from '../vectors/tags.ts';
import {
  type EngineKind,
  type EngineOptions,
  type EngineSearch,
  graphParameters,
  type VectorEngine,
} from './vector-engine.ts';

/** Used subset of the LanceDB API. */
interface VectorQuery {
  distanceType(type: 'cosine'): VectorQuery;
  ef(ef: number): VectorQuery;
  refineFactor(factor: number): VectorQuery;
  where(sql: string): VectorQuery;
  select(columns: readonly string[]): VectorQuery;
  limit(count: number): VectorQuery;
  toArray(): Promise<readonly { readonly id: number }[]>;
}
interface Table {
  add(rows: readonly object[]): Promise<unknown>;
  createIndex(column: string, options: { config: unknown; waitTimeoutSeconds: number }): Promise<void>;
  optimize(): Promise<unknown>;
  vectorSearch(vector: Float32Array): VectorQuery;
}
interface Connection {
  createTable(name: string, rows: readonly object[]): Promise<Table>;
  openTable(name: string): Promise<Table>;
  close(): void;
}
interface Lance {
  connect(path: string): Promise<Connection>;
  Index: { hnswSq(options: object): unknown; bitmap(): unknown };
}

const tableName = 'rows';
const indexSecondsMax = 3_600;
/**
 * Maximum number of rows per result that are rescored by their floats; 8-bit codes alone do not reach the
 * target recalls.
 */
const refineFactorMax = 4;

/**
 * LanceDB: HNSW over 8-bit codes within partitions; the best rows are rescored by their floats. The number of
 * rescored rows follows ef, because LanceDB keeps at least as many candidates as it rescores.
 */
export const lancedb: EngineKind = {
  name: 'lancedb',
  efRange: { min: 10, max: 2_000 },
  filters: true,
  synchronous: false,
  version: () => peerVersion('@lancedb/lancedb'),
  open: (options) => LanceEngine.open(options),
};

class LanceEngine implements VectorEngine {
  readonly serverPid = null;
  readonly replace = null;
  readonly #lance: Lance;
  readonly #connection: Connection;
  readonly #dimensions: number;
  #table: Table | null;

  static async open({ directory, load, dimensions }: EngineOptions): Promise<LanceEngine> {
    const lance = requirePeer('@lancedb/lancedb') as Lance;
    const connection = await lance.connect(directory);
    const table = load ? await connection.openTable(tableName) : null;
    return new LanceEngine(lance, connection, dimensions, table);
  }

  private constructor(lance: Lance, connection: Connection, dimensions: number, table: Table | null) {
    this.#lance = lance;
    this.#connection = connection;
    this.#dimensions = dimensions;
    this.#table = table;
  }

  async add(first: number, vectors: Float32Array, tags: Uint8Array): Promise<void> {
    const rows = Array.from(tags, (tag, i) => ({
      id: first + i,
      vector: Array.from(vectors.subarray(i * this.#dimensions, (i + 1) * this.#dimensions)),
      ...Object.fromEntries(filters.map((filter) => [columnOf(filter), ((tag >> filter.bit) & 1) === 1])),
    }));
    if (this.#table === null) this.#table = await this.#connection.createTable(tableName, rows);
    else await this.#table.add(rows);
  }

  async finish(): Promise<void> {
    const table = this.#table;
    if (table === null) throw new Error('LanceDB cannot build an index without rows.');
    const config = this.#lance.Index.hnswSq({
      distanceType: 'cosine',
      numPartitions: 1,
      m: graphParameters.connections,
      efConstruction: graphParameters.efConstruction,
    });
    await table.createIndex('vector', { config, waitTimeoutSeconds: indexSecondsMax });
    await table.optimize();
  }

  async search({ query: queryVector, count, ef, filter }: EngineSearch): Promise<ArrayLike<number>> {
    let query = this.#table!.vectorSearch(queryVector.vector)
      .distanceType('cosine')
      .ef(ef)
      .refineFactor(Math.max(1, Math.min(refineFactorMax, Math.floor(ef / count))));
    if (filter !== null) query = query.where(`${columnOf(filter)} = true`);
    const found = await query.select(['id']).limit(count).toArray();
    return found.map(({ id }) => id);
  }

  /** A table is always persisted. */
  readonly save = async (): Promise<void> => {};

  bytesByPart(): null {
    return null;
  }

  async close(): Promise<void> {
    this.#connection.close();
  }
}

function columnOf({ bit }: TagFilter): string {
  return `tag${bit}`;
}
