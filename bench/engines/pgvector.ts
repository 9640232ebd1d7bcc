import { PeerMissingError, peerVersion, requirePeer } from '../peers/peer-packages.ts';
import { filters, type TagFilter } from '../vectors/tags.ts';
import {
  type EngineKind,
  type EngineOptions,
  type EngineSearch,
  graphParameters,
  type VectorEngine,
} from './vector-engine.ts';

/** Used subset of the pg API. */
interface Client {
  connect(): Promise<void>;
  query(
    question: string | { name: string; text: string; values: readonly unknown[] },
    values?: readonly unknown[],
  ): Promise<{ readonly rows: readonly Record<string, unknown>[] }>;
  end(): Promise<void>;
}
interface Pg {
  Client: new (options: { connectionString: string }) => Client;
}

const table = 'quarry_bench_rows';

/** pgvector in a running PostgreSQL server given by --pgvector; one connection. */
export const pgvector: EngineKind = {
  name: 'pgvector',
  efRange: { min: 10, max: 1_000 },
  filters: true,
  synchronous: true,
  version: () => peerVersion('pg'),
  open: (options) => PgvectorEngine.open(options),
};

class PgvectorEngine implements VectorEngine {
  readonly replace = null;
  readonly save = null;
  readonly serverPid: number | null;
  readonly #client: Client;
  readonly #dimensions: number;
  #ef = 0;

  static async open({ dimensions, url }: EngineOptions): Promise<PgvectorEngine> {
    if (url === null) throw new PeerMissingError('no server configured; pass its URL with --pgvector');
    const { Client } = requirePeer('pg') as Pg;
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query('CREATE EXTENSION IF NOT EXISTS vector');
    await client.query(`DROP TABLE IF EXISTS ${table}`);
    const columns = filters.map((filter) => `${columnOf(filter)} boolean`).join(', ');
    await client.query(
      `CREATE TABLE ${table} (id integer PRIMARY KEY, vector vector(${dimensions}), ${columns})`,
    );
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid, inet_server_addr() AS address');
    // CPU time is only available for a backend on this machine.
    const local = rows[0]?.address === null || rows[0]?.address === '127.0.0.1';
    return new PgvectorEngine(client, dimensions, local ? Number(rows[0]?.pid) : null);
  }

  private constructor(client: Client, dimensions: number, serverPid: number | null) {
    this.#client = client;
    this.#dimensions = dimensions;
    this.serverPid = serverPid;
  }

  async add(first: number, vectors: Float32Array, tags: Uint8Array): Promise<void> {
    const columns = filters.map(columnOf).join(', ');
    const lines = Array.from(tags, (tag, i) => {
      const numbers = vectors.subarray(i * this.#dimensions, (i + 1) * this.#dimensions).join(',');
      return `(${first + i},'[${numbers}]',${filters.map(({ bit }) => ((tag >> bit) & 1) === 1).join(',')})`;
    });
    await this.#client.query(`INSERT INTO ${table} (id, vector, ${columns}) VALUES ${lines.join(',')}`);
  }

  async finish(): Promise<void> {
    const { connections: m, efConstruction } = graphParameters;
    await this.#client.query("SET maintenance_work_mem = '2GB'");
    await this.#client.query(
      `CREATE INDEX ON ${table} USING hnsw (vector vector_cosine_ops) WITH (m = ${m}, ef_construction = ${efConstruction})`,
    );
    await this.#client.query(`ANALYZE ${table}`);
  }

  async search({ query: vectorQuery, count, ef, filter }: EngineSearch): Promise<ArrayLike<number>> {
    if (ef !== this.#ef) {
      await this.#client.query(`SET hnsw.ef_search = ${ef}`);
      this.#ef = ef;
    }
    const where = filter === null ? '' : `WHERE ${columnOf(filter)}`;
    const { rows } = await this.#client.query({
      name: `nearest${filter?.bit ?? ''}`,
      text: `SELECT id FROM ${table} ${where} ORDER BY vector <=> $1 LIMIT $2`,
      values: [`[${vectorQuery.vector.join(',')}]`, count],
    });
    return rows.map(({ id }) => Number(id));
  }

  bytesByPart(): null {
    return null;
  }

  async close(): Promise<void> {
    await this.#client.query(`DROP TABLE IF EXISTS ${table}`);
    await this.#client.end();
  }
}

function columnOf({ bit }: TagFilter): string {
  return `tag${bit}`;
}
