import { readdir, readFile } from 'node:fs/promises';
import { platform } from 'node:os';
import type { RocksIterator, RocksLevel } from '@nxtedition/rocksdb';
import { AppError } from '../core/app-error.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import { limits } from '../core/limits.ts';
import { setNiceness } from '../core/niceness.ts';
import type { PlainOperation } from './evaluate-group.ts';
import type { RangeOptions } from './store.ts';

/**
 * Wrapper of the RocksDB binding; this is the only file that imports it. The binding's `put` and `del` ignore
 * `sync` and its promises of batches block the calling thread, so this file uses its synchronous calls, and
 * the names and comments state the thread for which each is intended.
 */
export interface RocksDatabase {
  /** Handle that identifies the open database to another thread of this process. */
  readonly handle: bigint;
  /** Takes a few microseconds per key when cached; may read from disk. */
  getMany(keys: readonly Uint8Array[]): (Uint8Array | undefined)[];
  /** Reads in libuv's pool, from a snapshot taken by this call. */
  iterate(options: RangeOptions & { readonly fillCache?: boolean }): RocksIterator;
  estimatedBytes(): number;
  close(): Promise<void>;
}

export class StoreLockedError extends Error {
  override readonly name = 'StoreLockedError';
}

export interface RocksOptions {
  readonly location: string;
  /** Size of the cache of uncompressed blocks in bytes. */
  readonly cacheBytes: number;
  readonly compression?: StoreCompression;
}

/**
 * Compression of new tables. `zstd`: each block, with a dictionary per table. It saves a fifth of the bytes, but a read
 * that misses the cache takes more than twice the CPU time, and writing a third of the CPU time of an ingest. Tables of both
 * kinds are always readable.
 */
export type StoreCompression = 'none' | 'zstd';

/** Opens or creates a database. Errors: `StoreLockedError` if this or another process already has it open. */
export async function openRocks(options: RocksOptions): Promise<RocksDatabase> {
  const { RocksLevel } = await loadLibrary();
  const level = new RocksLevel(options.location, {
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
    cacheSize: options.cacheBytes,
    // The binding's preset named "level" would compress only old data, but rewrite it more often.
    compression: options.compression === 'zstd',
    walCompression: false,
  });
  try {
    await level.open();
  } catch (error) {
    const cause = (error as { cause?: { code?: unknown } }).cause ?? error;
    if ((cause as { code?: unknown }).code === 'LEVEL_LOCKED') {
      throw new StoreLockedError(`the database in ${options.location} is in use`, { cause });
    }
    throw cause;
  }
  await lowerRocksThreadPriority();
  return toDatabase(level);
}

/** Niceness of threads that write to disk, so that threads serving requests take precedence. */
export const diskNiceness = 5;

/** Lowers the priority of RocksDB's own threads, which flush and compact tables. */
async function lowerRocksThreadPriority(): Promise<void> {
  if (platform() !== 'linux') return;
  for (const thread of await readdir('/proc/self/task')) {
    const name = await readFile(`/proc/self/task/${thread}/comm`, 'latin1').catch(() => '');
    if (name.startsWith('rocksdb:')) setNiceness(diskNiceness, Number(thread));
  }
}

/** Used on the writer thread: applies packed groups to a database that the main thread has open. */
export interface RocksWriter {
  /** Blocks the calling thread until the group is on disk. Throws RocksDB's error; nothing was applied then. */
  writeSynced(group: ArrayBuffer): void;
  /** The same without waiting for the disk: a power failure loses the last groups, in order. */
  writeUnsynced(group: ArrayBuffer): void;
}

/** Loads only the binding: the classes of the package take half of the CPU time of a new thread. */
export async function attachWriter(handle: bigint): Promise<RocksWriter> {
  const binding = await loadBinding();
  const database = binding.db_init(handle);
  await new Promise<void>((resolve, reject) => {
    const onOpened = (error: Error | null) => (error === null ? resolve() : reject(error));
    // Calls back, or returns the columns.
    if (binding.db_open(database, {}, onOpened) !== undefined) resolve();
  });
  const batch = binding.batch_init();
  const write = (group: ArrayBuffer, sync: boolean) => {
    binding.batch_clear(batch);
    for (const operation of unpackGroup(new Uint8Array(group))) {
      if (operation.type === 'put') binding.batch_put(batch, operation.key, operation.value, {});
      else binding.batch_del(batch, operation.key, {});
    }
    binding.batch_write(database, batch, { sync });
  };
  return {
    writeSynced: (group) => write(group, true),
    writeUnsynced: (group) => write(group, false),
  };
}

const opDelete = 0;
const opPut = 1;
/** u8 operation, u32 key length, u32 value length in bytes, little-endian; followed by key and value. */
const headerBytes = 9;

/** Bytes copied per step: well below a millisecond, including page faults of the new memory. */
const copiedBytesMax = 524_288;
/** Short operations packed per step. */
const operationsPerStep = 1_024;

/**
 * Packs a whole group into one transferable block, so that passing it to a thread copies nothing. Yields
 * while packing a large group.
 */
export async function packGroup(
  operations: readonly PlainOperation[],
  yieldToEventLoop: YieldToEventLoop,
): Promise<ArrayBuffer> {
  let size = 0;
  for (const operation of operations) {
    size += headerBytes + operation.key.byteLength;
    if (operation.type === 'put') size += operation.value.byteLength;
  }
  // Allocated separately, so that it can be transferred, and not zero-filled.
  const group = Buffer.allocUnsafeSlow(size);
  let offset = 0;
  for (const [i, operation] of operations.entries()) {
    const pause = i % operationsPerStep === 0 ? yieldToEventLoop() : null;
    if (pause !== null) await pause;
    const value = operation.type === 'put' ? operation.value : nothing;
    group.writeUInt8(operation.type === 'put' ? opPut : opDelete, offset);
    group.writeUInt32LE(operation.key.byteLength, offset + 1);
    group.writeUInt32LE(value.byteLength, offset + 5);
    group.set(operation.key, offset + headerBytes);
    offset += headerBytes + operation.key.byteLength;
    for (let at = 0; at < value.byteLength; at += copiedBytesMax) {
      const turn = yieldToEventLoop();
      if (turn !== null) await turn;
      group.set(value.subarray(at, at + copiedBytesMax), offset + at);
    }
    offset += value.byteLength;
  }
  return group.buffer as ArrayBuffer;
}

const nothing = new Uint8Array(0);

/** Returns the operations of a packed group, as views of it. */
export function* unpackGroup(group: Uint8Array): Generator<PlainOperation, void, void> {
  const bytes = Buffer.from(group.buffer, group.byteOffset, group.byteLength);
  let offset = 0;
  while (offset < bytes.byteLength) {
    const keyStart = offset + headerBytes;
    const valueStart = keyStart + bytes.readUInt32LE(offset + 1);
    const end = valueStart + bytes.readUInt32LE(offset + 5);
    const key = bytes.subarray(keyStart, valueStart);
    if (bytes.readUInt8(offset) === opPut) yield { type: 'put', key, value: bytes.subarray(valueStart, end) };
    else yield { type: 'delete', key };
    offset = end;
  }
}

function toDatabase(level: RocksLevel): RocksDatabase {
  return {
    handle: level.handle,
    getMany: (keys) => level._getManySync(keys, { valueEncoding: 'buffer' }),
    iterate: (options) =>
      level.iterator({
        ...options,
        highWaterMarkBytes: limits.storeRangeChunkBytes,
        keyEncoding: 'buffer',
        valueEncoding: 'buffer',
      }),
    estimatedBytes: () => Number(level.getProperty('rocksdb.estimate-live-data-size')),
    close: () => level.close(),
  };
}

async function loadLibrary(): Promise<typeof import('@nxtedition/rocksdb')> {
  return import('@nxtedition/rocksdb').catch(rejectPlatform);
}

async function loadBinding(): Promise<typeof import('@nxtedition/rocksdb/binding.js')['default']> {
  return (await import('@nxtedition/rocksdb/binding.js').catch(rejectPlatform)).default;
}

function rejectPlatform(cause: unknown): never {
  throw new AppError(
    'unavailable',
    `The RocksDB binding cannot be loaded on this platform (${process.platform}-${process.arch}). Supported: linux-x64 with glibc, darwin-arm64.`,
    { cause },
  );
}
