import { readdir, readFile } from 'node:fs/promises';
import { platform } from 'node:os';
import type { RocksBatch, RocksIterator, RocksLevel } from '@nxtedition/rocksdb';
import { AppError } from '../base/app-error.ts';
import type { YieldToEventLoop } from '../base/event-loop-scheduler.ts';
import { beLessUrgent } from '../base/less-urgent.ts';
import { limits } from '../base/limits.ts';
import type { PlainOperation } from './group-commit.ts';
import type { RangeOptions } from './store.ts';

/**
 * The only file that imports the RocksDB binding. The binding's `put` and `del` ignore `sync` and its promises of
 * batches block the calling thread, so this file uses its synchronous calls and says in each name which thread they
 * are for.
 */
export interface RocksDatabase {
  /** Names the open database to another thread of this process. */
  readonly handle: bigint;
  /** A few microseconds a key when cached; may read from disk. */
  getMany(keys: readonly Uint8Array[]): (Uint8Array | undefined)[];
  /** Reads in libuv's pool, from a snapshot taken by this call. */
  iterate(options: RangeOptions): RocksIterator;
  estimatedBytes(): number;
  close(): Promise<void>;
}

export class StoreLocked extends Error {
  override readonly name = 'StoreLocked';
}

export interface RocksOptions {
  readonly location: string;
  /** Bytes of the cache of uncompressed blocks. */
  readonly cacheBytes: number;
}

/** Opens or creates a database. Throws `StoreLocked` when this or another process has it open already. */
export async function openRocks(options: RocksOptions): Promise<RocksDatabase> {
  const { RocksLevel } = await loadLibrary();
  const level = new RocksLevel(options.location, {
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
    cacheSize: options.cacheBytes,
    // The pages of a document live for a moment, and its vectors hardly shrink. The binding's preset named "level" would
    // compress what becomes old all the same, and rewrite more often: RocksDB's own levels do neither.
    compression: false,
    walCompression: false,
  });
  try {
    await level.open();
  } catch (error) {
    const cause = (error as { cause?: { code?: unknown } }).cause ?? error;
    if ((cause as { code?: unknown }).code === 'LEVEL_LOCKED') {
      throw new StoreLocked(`the database in ${options.location} is in use`, { cause });
    }
    throw cause;
  }
  await makeWay();
  return asDatabase(level);
}

/** How far threads that write to the disk step back for those that answer somebody. */
export const diskNiceness = 5;

/** RocksDB's own threads, which write tables out and merge them. */
async function makeWay(): Promise<void> {
  if (platform() !== 'linux') return;
  for (const thread of await readdir('/proc/self/task')) {
    const name = await readFile(`/proc/self/task/${thread}/comm`, 'latin1').catch(() => '');
    if (name.startsWith('rocksdb:')) beLessUrgent(diskNiceness, Number(thread));
  }
}

/** For the writer's thread: applies packed groups to a database that the main thread has open. */
export interface RocksWriter {
  /** Blocks the calling thread until the group is on disk. Throws RocksDB's error; then nothing was applied. */
  writeSynced(group: ArrayBuffer): void;
}

export async function attachWriter(handle: bigint): Promise<RocksWriter> {
  const { RocksLevel } = await loadLibrary();
  const level = new RocksLevel(handle, { keyEncoding: 'buffer', valueEncoding: 'buffer' });
  await level.open();
  const batch = level.batch();
  return {
    writeSynced(group) {
      batch._clear();
      unpackInto(batch, group);
      batch._writeSync({ sync: true });
    },
  };
}

const opDelete = 0;
const opPut = 1;
/** u8 operation, u32 key bytes, u32 value bytes; little-endian; then key and value. */
const headerBytes = 9;

/** Bytes that are copied at one time: well below a millisecond, with the memory that they are written to first. */
const copiedBytesMax = 524_288;

/** One transferable block for a whole group, so that handing it to a thread copies nothing. A large one takes its turns. */
export async function packGroup(
  operations: readonly PlainOperation[],
  yieldToEventLoop: YieldToEventLoop,
): Promise<ArrayBuffer> {
  let size = 0;
  for (const operation of operations) {
    size += headerBytes + operation.key.byteLength;
    if (operation.type === 'put') size += operation.value.byteLength;
  }
  // Memory of its own, which may move, and which nobody fills with zeros first.
  const group = Buffer.allocUnsafeSlow(size);
  let offset = 0;
  for (const operation of operations) {
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

function unpackInto(batch: RocksBatch, group: ArrayBuffer): void {
  const bytes = Buffer.from(group);
  let offset = 0;
  while (offset < bytes.byteLength) {
    const keyStart = offset + headerBytes;
    const valueStart = keyStart + bytes.readUInt32LE(offset + 1);
    const end = valueStart + bytes.readUInt32LE(offset + 5);
    const key = bytes.subarray(keyStart, valueStart);
    if (bytes.readUInt8(offset) === opPut) batch._put(key, bytes.subarray(valueStart, end), {});
    else batch._del(key, {});
    offset = end;
  }
}

function asDatabase(level: RocksLevel): RocksDatabase {
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
  try {
    return await import('@nxtedition/rocksdb');
  } catch (cause) {
    throw new AppError(
      'unavailable',
      `Quarry keeps its data in RocksDB, whose binding does not load on this platform (${process.platform}-${process.arch}); linux-x64 with glibc and darwin-arm64 are supported.`,
      { cause },
    );
  }
}
