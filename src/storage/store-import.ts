import { mkdir } from 'node:fs/promises';
import { groupMarker } from './group-number.ts';
import { attachWriter, openRocks, packGroup, type RocksDatabase, type RocksWriter } from './rocksdb.ts';

/** Cache of a database that is only written. */
const cacheBytes = 8 * 1_048_576;

/**
 * Writes packed groups (`packGroup`) of a backup into a new database. Blocks the calling thread while it
 * writes: for a process that does nothing else.
 */
export class StoreImport {
  readonly #database: RocksDatabase;
  readonly #writer: RocksWriter;

  /** `location`: a missing or empty folder; its parent must exist. */
  static async open(location: string): Promise<StoreImport> {
    await mkdir(location, { recursive: true, mode: 0o700 });
    const database = await openRocks({ location, cacheBytes });
    return new StoreImport(database, await attachWriter(database.handle));
  }

  private constructor(database: RocksDatabase, writer: RocksWriter) {
    this.#database = database;
    this.#writer = writer;
  }

  /** Applies all operations of a packed group. */
  write(group: ArrayBuffer): void {
    this.#writer.writeSynced(group);
  }

  /** Sets the sequence number of the last commit. */
  async setSequence(sequence: number): Promise<void> {
    this.#writer.writeSynced(await packGroup([groupMarker(sequence)], () => null));
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
