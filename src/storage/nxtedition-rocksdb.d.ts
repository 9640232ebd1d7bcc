/**
 * Types for the part of @nxtedition/rocksdb 12.2.12 used by `rocksdb.ts`; the package has no types of its
 * own.
 */
declare module '@nxtedition/rocksdb' {
  interface OpenOptions {
    keyEncoding?: 'buffer';
    valueEncoding?: 'buffer';
    /** Bytes of the block cache. */
    cacheSize?: number;
    walCompression?: boolean;
    /** Default true: tables are compressed with ZSTD. */
    compression?: boolean;
  }

  interface IteratorOptions {
    gt?: Uint8Array;
    gte?: Uint8Array;
    lt?: Uint8Array;
    lte?: Uint8Array;
    limit?: number;
    reverse?: boolean;
    values?: boolean;
    fillCache?: boolean;
    highWaterMarkBytes?: number;
    keyEncoding: 'buffer';
    valueEncoding: 'buffer';
  }

  interface RocksIterator {
    /** Returns up to `count` entries, read in libuv's pool; an empty list at the end. */
    nextv(count: number): Promise<[key: Buffer, value: Buffer | undefined][]>;
    close(): Promise<void>;
  }

  export class RocksLevel {
    constructor(folder: string, options?: OpenOptions);
    readonly handle: bigint;
    open(): Promise<void>;
    close(): Promise<void>;
    iterator(options: IteratorOptions): RocksIterator;
    getProperty(name: string): string;
    _getManySync(keys: readonly Uint8Array[], options: { valueEncoding: 'buffer' }): (Buffer | undefined)[];
  }
}

/** The binding without the classes of the package, which load 40 further modules. */
declare module '@nxtedition/rocksdb/binding.js' {
  interface Database {
    readonly kind: unique symbol;
  }

  interface Batch {
    readonly kind: unique symbol;
  }

  interface Binding {
    /** `handle`: of a database that another thread of this process has open. */
    db_init(handle: bigint): Database;
    db_open(database: Database, options: object, onOpened: (error: Error | null) => void): object | undefined;
    batch_init(): Batch;
    batch_put(batch: Batch, key: Uint8Array, value: Uint8Array, options: object): void;
    batch_del(batch: Batch, key: Uint8Array, options: object): void;
    batch_clear(batch: Batch): void;
    /** Blocks the calling thread until the batch is written (with `sync`: fsynced). */
    batch_write(database: Database, batch: Batch, options: { readonly sync: boolean }): void;
  }

  const binding: Binding;
  export default binding;
}
