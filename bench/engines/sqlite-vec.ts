import { join } from 'node:path';
import { peerVersion, requirePeer } from '../peers/peer-packages.ts';
import { filters, type TagFilter } from '../vectors/tags.ts';
import type { EngineKind, EngineOptions, EngineSearch, VectorEngine } from './vector-engine.ts';

/** Used subset of better-sqlite3 and sqlite-vec. */
interface Statement {
  run(...values: readonly unknown[]): unknown;
  all(...values: readonly unknown[]): readonly { readonly rowid: number }[];
}
interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  loadExtension(path: string): void;
  close(): void;
}
type BetterSqlite = new (path: string) => Database;
interface SqliteVec {
  getLoadablePath(): string;
}

/** Vectors in SQLite; compares the query with every row and is therefore exact. */
export const sqliteVec: EngineKind = {
  name: 'sqlite-vec',
  efRange: null,
  filters: true,
  synchronous: true,
  version: () => `${peerVersion('sqlite-vec')}, ${peerVersion('better-sqlite3')}`,
  open: async (options) => new SqliteVecEngine(options),
};

class SqliteVecEngine implements VectorEngine {
  readonly serverPid = null;
  readonly #database: Database;
  readonly #dimensions: number;
  readonly #insert: Statement;
  readonly #all: Statement;
  readonly #filtered: readonly Statement[];

  constructor({ dimensions, directory }: EngineOptions) {
    const Sqlite = requirePeer('better-sqlite3') as BetterSqlite;
    this.#dimensions = dimensions;
    this.#database = new Sqlite(join(directory, 'vectors.sqlite'));
    this.#database.loadExtension((requirePeer('sqlite-vec') as SqliteVec).getLoadablePath());
    this.#database.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -4000000',
    );
    const columns = filters.map((filter) => `${columnOf(filter)} integer`).join(', ');
    this.#database.exec(
      `CREATE VIRTUAL TABLE IF NOT EXISTS rows USING vec0(vector float[${dimensions}] distance_metric=cosine, ${columns})`,
    );
    const placeholders = Array.from({ length: filters.length + 2 }, () => '?').join(', ');
    this.#insert = this.#database.prepare(
      `INSERT INTO rows(rowid, vector, ${filters.map(columnOf).join(', ')}) VALUES (${placeholders})`,
    );
    const select = 'SELECT rowid FROM rows WHERE vector MATCH ? AND k = ?';
    this.#all = this.#database.prepare(select);
    this.#filtered = filters.map((filter) => this.#database.prepare(`${select} AND ${columnOf(filter)} = 1`));
  }

  async add(first: number, vectors: Float32Array, tags: Uint8Array): Promise<void> {
    this.#database.exec('BEGIN');
    for (const [i, tag] of tags.entries()) {
      const vector = vectors.subarray(i * this.#dimensions, (i + 1) * this.#dimensions);
      this.#insert.run(BigInt(first + i), vector, ...filters.map(({ bit }) => BigInt((tag >> bit) & 1)));
    }
    this.#database.exec('COMMIT');
  }

  async finish(): Promise<void> {}

  search({ query, count, filter }: EngineSearch): ArrayLike<number> {
    const statement = filter === null ? this.#all : this.#filtered[filters.indexOf(filter)]!;
    return statement.all(query.vector, count).map(({ rowid }) => rowid);
  }

  readonly replace = async (
    rows: readonly number[],
    vectors: Float32Array,
    tags: Uint8Array,
  ): Promise<void> => {
    const remove = this.#database.prepare('DELETE FROM rows WHERE rowid = ?');
    for (const row of rows) remove.run(BigInt(row));
    for (const [i, row] of rows.entries()) {
      const vector = vectors.subarray(i * this.#dimensions, (i + 1) * this.#dimensions);
      await this.add(row, vector, tags.subarray(i, i + 1));
    }
  };

  /** A database is always persisted. */
  readonly save = async (): Promise<void> => {};

  bytesByPart(): null {
    return null;
  }

  async close(): Promise<void> {
    this.#database.close();
  }
}

function columnOf({ bit }: TagFilter): string {
  return `tag${bit}`;
}
