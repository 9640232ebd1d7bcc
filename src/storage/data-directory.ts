import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import type { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { version } from '../core/version.ts';
import { Blobs } from './blobs.ts';
import type { CommitJournal } from './commit-journal.ts';
import { DiskSpaceMonitor } from './disk-space-monitor.ts';
import { readIfExists, replaceFile, syncFolder } from './durable-files.ts';
import { parseSecrets, secretsFile, serializeSecrets } from './installation-secrets.ts';
import { openLineage } from './lineage.ts';
import { currentFormat, type Migration, migrations } from './migrations.ts';
import { openSharedStore, type SharedStorage } from './open-shared-store.ts';
import type { PostgresStore } from './postgres-store.ts';
import { resealStore } from './reseal-store.ts';
import { RocksStore } from './rocks-store.ts';
import { type StoreCompression, StoreLockedError } from './rocksdb.ts';
import { putOwnership, putSharedData, secretProof, startupError } from './shared-data.ts';
import { SharedFiles } from './shared-files.ts';
import type { Store } from './store.ts';

export interface DataDirectoryOptions {
  readonly path: string;
  /** Free bytes below which writes are rejected. */
  readonly reserveBytes: number;
  readonly logger: Logger;
  readonly random: Random;
  readonly cacheBytes?: number;
  /** Compression of new tables of the store; none by default. */
  readonly compression?: StoreCompression;
  readonly backgroundScheduler?: BackgroundScheduler;
  /** Clock of the journal of commits; without it, no journal is written. */
  readonly journalClock?: Pick<Clock, 'now'>;
  /** Place of the data, if the directory is only a cache. */
  readonly shared?: SharedStorage;
  /** For the check of a restored directory, before it is declared usable. */
  readonly mayBeIncomplete?: boolean;
  /** For tests of migrations. */
  readonly format?: { readonly current: number; readonly migrations: readonly Migration[] };
}

/**
 * All persistent data, in one folder that only its owner can read:
 *
 *   format.json    format version, written first
 *   quarry.pid     process id of the server that has it open
 *   secrets.json   secrets of the installation
 *   restore.json   backup from which it was restored; restore-incomplete.json until the restore has been verified
 *   store/         RocksDB; its lock excludes a second server
 *   blobs/         raw bytes by hash
 *   index/         snapshots of the engine; can be rebuilt from the store
 *   journal/       commits that the backup target does not have yet
 *   models/        models added with `quarry models add`
 *   cache/         data that can be recreated, such as page images
 *
 * With shared storage, all of it apart from secrets.json and models/ is a cache.
 */
export class DataDirectory {
  readonly path: string;
  readonly store: Store;
  readonly blobs: Blobs;
  readonly space: DiskSpaceMonitor;
  /** 32 random bytes each: the current secret, then those replaced by rotations, newest first. */
  readonly secrets: readonly Uint8Array[];
  /** Commits that no backup target has yet; null without a journal. */
  readonly journal: CommitJournal | null;
  /** ID of its history of commits. */
  readonly lineage: string;
  /** The store, if it is in PostgreSQL; else null. */
  readonly postgres: PostgresStore | null;
  #closing: Promise<void> | null = null;

  constructor(
    parts: Pick<
      DataDirectory,
      'path' | 'store' | 'blobs' | 'space' | 'secrets' | 'lineage' | 'journal' | 'postgres'
    >,
  ) {
    this.path = parts.path;
    this.store = parts.store;
    this.blobs = parts.blobs;
    this.space = parts.space;
    this.secrets = parts.secrets;
    this.lineage = parts.lineage;
    this.journal = parts.journal;
    this.postgres = parts.postgres;
  }

  get indexPath(): string {
    return join(this.path, 'index');
  }

  get cachePath(): string {
    return join(this.path, 'cache');
  }

  /** Idempotent. Afterwards another server may open the folder. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.space.close();
    await rm(pidPath(this.path), { force: true });
    await this.store.close();
  }
}

/** Opens or creates a data directory. Errors: `unavailable` with a message for the operator. */
export async function openDataDirectory(options: DataDirectoryOptions): Promise<DataDirectory> {
  const { path, logger } = options;
  await createFolder(path);
  if (options.mayBeIncomplete !== true) await checkRestored(path);
  const { current = currentFormat, migrations: steps = migrations } = options.format ?? {};
  const localFormat = await readFormat(path, current, options.shared !== undefined);
  const space = await DiskSpaceMonitor.start({ path, reserveBytes: options.reserveBytes, logger });
  try {
    const opened = await openStore(options, { space, localFormat, current });
    const { store } = opened;
    try {
      await writePid(path);
      await migrate({ ...opened, path }, { current, steps });
      const secrets = await openSecrets(opened, options);
      for (const folder of ['index', 'cache'])
        await mkdir(join(path, folder), { recursive: true, mode: 0o700 });
      const blobs = await openBlobs(opened, options, space);
      // Makes the names of the folders durable.
      await syncFolder(path);
      const lineage = await openLineage(store, options.random);
      return new DataDirectory({ ...opened, path, blobs, space, secrets, lineage });
    } catch (error) {
      await store.close();
      throw error;
    }
  } catch (error) {
    space.close();
    throw error;
  }
}

function openBlobs(
  { store, postgres }: OpenedStore,
  { path, random, logger, shared }: DataDirectoryOptions,
  space: DiskSpaceMonitor,
): Promise<Blobs> {
  const common = { directory: join(path, 'blobs'), store, random, space };
  if (shared === undefined || postgres === null) return Blobs.open(common);
  const epoch = () => postgres.postgresState.epoch;
  const files = new SharedFiles({
    target: shared.files,
    random,
    logger,
    epoch,
    confirmOwnership: () => store.write([putOwnership(epoch())], { mayUseReserve: true }),
  });
  return Blobs.open({ ...common, shared: { files, cacheBytes: shared.filesCacheBytes } });
}

async function createFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await readdir(path);
  } catch (cause) {
    throw startupError(`Cannot use the data directory ${path}: ${(cause as Error).message}.`, cause);
  }
}

/** Present from the start of a restore until the restored directory has been verified. */
export const incompleteRestoreFile = 'restore-incomplete.json';
export const restoreFile = 'restore.json';

async function checkRestored(path: string): Promise<void> {
  if ((await readIfExists(join(path, incompleteRestoreFile))) === null) return;
  throw startupError(
    `The data directory ${path} is incomplete: a restore into it did not finish. Delete it and run \`quarry backup restore\` again.`,
  );
}

/** Returns the format of an existing directory; a new, empty folder gets the current one. */
async function readFormat(path: string, current: number, isCache: boolean): Promise<number> {
  const file = join(path, 'format.json');
  const text = await readIfExists(file);
  if (text === null) {
    const isForeign = (name: string) => !isIgnorableEntry(name) && !(isCache && name === secretsFile);
    const foreignEntries = (await readdir(path)).filter(isForeign);
    if (foreignEntries.length > 0) {
      throw startupError(
        `The folder ${path} is not empty and is not a Quarry data directory (found ${foreignEntries[0]}, no format.json). Choose an empty folder.`,
      );
    }
    await replaceFile(file, encodeFormat(current, isCache));
    return current;
  }
  const { format, version: writer, isCache: wasCache } = parseFormatFile(file, text);
  if (wasCache !== isCache) throw startupError(wasCache ? cacheMessage(path) : ownDataMessage(path));
  if (format > current) {
    const [writtenBy, remedy] =
      writer === null
        ? ['a newer Quarry version', 'the newer version']
        : [`Quarry ${writer}`, `Quarry ${writer} or later`];
    throw startupError(
      `The data directory ${path} has format ${format}, written by ${writtenBy}. This version (${version}) supports format ${current}. Run ${remedy}.`,
    );
  }
  return format;
}

function cacheMessage(path: string): string {
  return `The data directory ${path} is a cache of PostgreSQL. Set QUARRY_STORE and QUARRY_FILES, or QUARRY_DATA to another folder.`;
}

function ownDataMessage(path: string): string {
  return `The data directory ${path} has the data of a server without QUARRY_STORE. Set QUARRY_DATA to an empty folder; \`quarry cluster import ${path}\` copies the data to PostgreSQL.`;
}

/** Content of `format.json`. */
export interface FormatFile {
  readonly format: number;
  /** Version that created the directory or migrated it to this format; null before version 0.1.0 recorded it. */
  readonly version: string | null;
  /** Whether the directory is only a cache of PostgreSQL. */
  readonly isCache: boolean;
}

/** Reads the format of a data directory; null if there is none. Errors: `unavailable` for a damaged file. */
export async function readFormatFile(path: string): Promise<FormatFile | null> {
  const file = join(path, 'format.json');
  const text = await readIfExists(file);
  return text === null ? null : parseFormatFile(file, text);
}

function parseFormatFile(file: string, text: string): FormatFile {
  const content = parseFormat(text);
  if (content !== null) return content;
  throw startupError(`The file ${file} is damaged: the format version is missing. Restore it from a backup.`);
}

/**
 * Whether a file in a new folder may come from a crash during creation, from the file system, or from `quarry
 * models add`.
 */
function isIgnorableEntry(name: string): boolean {
  // Models may be added before the first start.
  return name === 'models' || name === 'format.json.new' || name === 'lost+found' || name.startsWith('.');
}

/** `version` is for an older build, which cannot open the directory: its error names the version that can. */
export function encodeFormat(format: number, isCache = false): string {
  return `${JSON.stringify({ format, version, ...(isCache ? { cache: true } : {}) })}\n`;
}

function parseFormat(text: string): FormatFile | null {
  try {
    const content = JSON.parse(text) as { format?: unknown; version?: unknown; cache?: unknown };
    const { format, version: writer, cache } = content;
    if (typeof format !== 'number' || !Number.isSafeInteger(format) || format <= 0) return null;
    const isVersion = typeof writer === 'string' && /^\d+\.\d+\.\d+[\w.+-]{0,32}$/.test(writer);
    return { format, version: isVersion ? writer : null, isCache: cache === true };
  } catch {
    return null;
  }
}

interface OpenedStore {
  readonly store: Store;
  readonly journal: CommitJournal | null;
  readonly postgres: PostgresStore | null;
  /** Format of the data. */
  readonly format: number;
}

interface StoreParts {
  readonly space: DiskSpaceMonitor;
  /** Format of the directory. */
  readonly localFormat: number;
  readonly current: number;
}

async function openStore(
  options: DataDirectoryOptions,
  { space, localFormat, current }: StoreParts,
): Promise<OpenedStore> {
  const { path, logger, random, shared, cacheBytes, compression, backgroundScheduler } = options;
  const { journalClock: clock } = options;
  const location = join(path, 'store');
  await mkdir(location, { recursive: true, mode: 0o700 });
  const common = {
    logger,
    space,
    ...(cacheBytes === undefined ? {} : { cacheBytes }),
    ...(compression === undefined ? {} : { compression }),
    ...(backgroundScheduler === undefined ? {} : { backgroundScheduler }),
  };
  try {
    if (shared !== undefined) {
      const { store, format } = await openSharedStore({
        ...common,
        shared,
        path,
        random,
        currentFormat: current,
      });
      return { store, journal: null, postgres: store, format };
    }
    const store = await RocksStore.open({
      ...common,
      location,
      ...(clock === undefined ? {} : { journal: { folder: join(path, 'journal'), clock } }),
    });
    return { store, journal: store.journal, postgres: null, format: localFormat };
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    if (cause instanceof StoreLockedError) throw startupError(await lockedMessage(path), cause);
    throw startupError(`The database in ${location} cannot be opened: ${(cause as Error).message}.`, cause);
  }
}

async function lockedMessage(path: string): Promise<string> {
  const pid = (await readIfExists(pidPath(path)))?.trim() ?? '';
  const owner = /^\d+$/.test(pid) ? `the server with process ID ${pid}` : 'another server';
  return `The data directory ${path} is in use by ${owner}. Stop that server or set QUARRY_DATA to another folder.`;
}

function pidPath(path: string): string {
  return join(path, 'quarry.pid');
}

/** Only for the message above: mutual exclusion relies on RocksDB's own lock, which ends with its process. */
function writePid(path: string): Promise<void> {
  return replaceFile(pidPath(path), `${process.pid}\n`);
}

interface MigrationPlan {
  readonly current: number;
  readonly steps: readonly Migration[];
}

async function migrate(parts: OpenedStore & { readonly path: string }, plan: MigrationPlan): Promise<void> {
  const isCache = parts.postgres !== null;
  for (let { format } = parts; format < plan.current; format += 1) {
    const step = plan.steps.find(({ from }) => from === format);
    if (step === undefined) {
      throw startupError(
        `The data directory ${parts.path} has format ${parts.format}; this version (format ${plan.current}) cannot migrate it. Export the documents with an older version.`,
      );
    }
    await step.migrate(parts);
    if (isCache) await parts.store.write(putSharedData({ format: format + 1 }), { mayUseReserve: true });
    await replaceFile(join(parts.path, 'format.json'), encodeFormat(format + 1, isCache));
  }
}

/** Reads the secrets, or creates the first one. After a rotation, encrypts stored secrets with the current one. */
async function openSecrets(
  { store, postgres }: OpenedStore,
  { path, random, logger }: DataDirectoryOptions,
): Promise<readonly Uint8Array[]> {
  const file = join(path, secretsFile);
  const text = await readIfExists(file);
  if (text === null) {
    const secrets = [Buffer.from(random.bytes(32))];
    await replaceFile(file, serializeSecrets({ secrets, retired: [] }));
    if (postgres !== null) await storeSecretProof(store, secrets);
    return secrets;
  }
  const found = parseSecrets(text);
  if (found === null)
    throw startupError(
      `The file ${file} is damaged. Restore it from a backup, or delete it. Deleting it invalidates open invitations, file URLs, second factors, and the secrets of webhooks, sources and marketplaces.`,
    );
  const { secrets, retired } = found;
  // Before the retired secrets are removed: until then, the file has the secret that the earlier proof belongs to.
  if (postgres !== null) await storeSecretProof(store, secrets);
  const all = [...secrets, ...retired];
  if (all.length === 1) return secrets;
  const resealed = await resealStore(store, all, random);
  if (resealed > 0) logger.info({ values: resealed }, 'encrypted stored secrets with the current secret');
  if (retired.length > 0) await replaceFile(file, serializeSecrets({ secrets, retired: [] }));
  return secrets;
}

/** The next start with other data in its directory compares it. */
async function storeSecretProof(store: Store, [current]: readonly Uint8Array[]): Promise<void> {
  const operations = putSharedData({ secret: secretProof(current!) });
  await store.write(operations, { mayUseReserve: true });
}
