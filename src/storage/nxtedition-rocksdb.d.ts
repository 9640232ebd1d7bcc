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

  interface RocksBatch {
    _put(key: Uint8Array, value: Uint8Array, options: object): void;
    _del(key: Uint8Array, options: object): void;
    _clear(): void;
    /** Blocks the calling thread until the batch is written (with `sync`: fsynced). */
    _writeSync(options: { sync: boolean }): void;
  }

  export class RocksLevel {
    /** `location`: a folder, or the handle of a database that another thread of this process has open. */
    constructor(location: string | bigint, options?: OpenOptions);
    readonly handle: bigint;
    open(): Promise<void>;
    close(): Promise<void>;
    batch(): RocksBatch;
    iterator(options: IteratorOptions): RocksIterator;
    getProperty(name: string): string;
    _getManySync(keys: readonly Uint8Array[], options: { valueEncoding: 'buffer' }): (Buffer | undefined)[];
  }
}
