import { rm } from 'node:fs/promises';
import { AppError } from '../core/app-error.ts';
import type { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { PlainOperation } from './evaluate-group.ts';
import { groupMarker, storedGroupNumber } from './group-number.ts';
import type { PostgresCell } from './postgres-cell.ts';
import { openRocks, packGroup, type RocksDatabase, type StoreCompression } from './rocksdb.ts';
import { type GroupWriter, ThreadWriter } from './thread-writer.ts';

export interface PostgresCacheOptions {
  /** Folder of the database; created if missing, its parent must exist. */
  readonly location: string;
  readonly logger: Logger;
  /** Size of the cache of uncompressed blocks in bytes. */
  readonly cacheBytes?: number;
  /** None by default. */
  readonly compression?: StoreCompression;
  /** Called before a copy of other data is replaced; files that were derived from it must be deleted. */
  readonly onReplace?: () => Promise<void>;
  /** Replaces the writer thread, so that tests can simulate disk failures. */
  readonly startWriter?: (database: RocksDatabase) => GroupWriter;
}

export interface PostgresCache {
  readonly cell: PostgresCell;
  readonly database: RocksDatabase;
  readonly writer: GroupWriter;
}

/** Key of the incarnation of the cell, before the entries of a snapshot. */
const incarnationKey = Uint8Array.of(0x00, 0x00);

/**
 * Opens the local copy of a cell and brings it to the head of the cell. Its groups are not fsynced: after a power
 * failure the last ones are missing and are loaded again. A copy of other or much older data is replaced. After an
 * error, the cell is closed. `takeCell`: called when the folder is locked, so that a second process in the same folder
 * does not take over.
 *
 * Errors: `StoreLockedError`; `AppError` unavailable if the folder has a store that is not a copy.
 */
export async function openPostgresCache(
  options: PostgresCacheOptions,
  takeCell: () => Promise<PostgresCell>,
  scheduler: BackgroundScheduler,
): Promise<PostgresCache> {
  let database = await openDatabase(options);
  let cell: PostgresCell | null = null;
  try {
    checkIsCopy(database);
    cell = await takeCell();
    if (isForeign(database, cell)) {
      options.logger.warn({ location: options.location }, 'cache of other or much older data replaced');
      await options.onReplace?.();
      await database.close();
      await rm(options.location, { recursive: true });
      database = await openDatabase(options);
    }
    const writer = options.startWriter?.(database) ?? new ThreadWriter(database.handle, { sync: false });
    try {
      const cache = { cell, database, writer };
      await load(cache, scheduler);
      return cache;
    } catch (error) {
      await writer.stop();
      throw error;
    }
  } catch (error) {
    await cell?.close();
    await database.close();
    throw error;
  }
}

function openDatabase({ location, cacheBytes, compression }: PostgresCacheOptions): Promise<RocksDatabase> {
  return openRocks({
    location,
    cacheBytes: cacheBytes ?? limits.storeCacheBytes,
    ...(compression === undefined ? {} : { compression }),
  });
}

function checkIsCopy(database: RocksDatabase): void {
  if (storedIncarnation(database) !== null || storedGroupNumber(database) === 0) return;
  throw new AppError(
    'unavailable',
    'The data directory has a store of its own, which would be lost as a cache of PostgreSQL. Use an empty directory.',
  );
}

/** Whether a cache contains commits that the cell does not have, or keys whose deletion was removed from it. */
function isForeign(database: RocksDatabase, cell: PostgresCell): boolean {
  const incarnation = storedIncarnation(database);
  if (incarnation === null) return false;
  const position = storedGroupNumber(database);
  return incarnation !== cell.incarnation || position > cell.head || position < cell.deletionsFrom;
}

function storedIncarnation(database: RocksDatabase): string | null {
  const [value] = database.getMany([incarnationKey]);
  return value === undefined ? null : Buffer.from(value).toString();
}

/** The number of the last commit is written at the end: an interrupted load is repeated. */
async function load(
  { cell, database, writer }: PostgresCache,
  scheduler: BackgroundScheduler,
): Promise<void> {
  const write = async (operations: readonly PlainOperation[]) =>
    writer.write(await packGroup(operations, scheduler.slice()));
  const isEmpty = storedIncarnation(database) === null;
  if (isEmpty) await write([{ type: 'put', key: incarnationKey, value: Buffer.from(cell.incarnation) }]);
  const position = storedGroupNumber(database);
  if (position === cell.head) return;
  for await (const operations of cell.changesAfter(position, { withDeletions: !isEmpty }))
    await write(operations);
  await write([groupMarker(cell.head)]);
}
