import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { AppError } from '../core/app-error.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { Random } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { postgresLimits } from '../core/postgres-limits.ts';
import { listReferencedBlobs } from './blob-references.ts';
import type { DataDirectory } from './data-directory.ts';
import { type PlainOperation, toKeyText } from './evaluate-group.ts';
import { currentFormat } from './migrations.ts';
import { explainErrors, type SharedStorage, sharedCell } from './open-shared-store.ts';
import { OutcomeUnknownError, PostgresCell } from './postgres-cell.ts';
import {
  claimFiles,
  decodeSharedData,
  deleteImportState,
  type ImportState,
  putSharedData,
  type SharedData,
  secretProof,
  sharedDataKeys,
} from './shared-data.ts';
import { SharedFiles } from './shared-files.ts';
import type { Entry } from './store.ts';

export interface DataImportOptions {
  readonly source: Pick<DataDirectory, 'path' | 'store' | 'blobs' | 'lineage' | 'secrets'>;
  readonly target: Pick<SharedStorage, 'url' | 'files'>;
  readonly random: Pick<Random, 'uuid'>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly yieldToEventLoop: YieldToEventLoop;
  readonly onProgress: (progress: DataImportProgress) => void;
}

export interface DataImportProgress {
  readonly phase: 'files' | 'rows' | 'check';
  /** Files or rows so far. */
  readonly done: number;
}

export interface DataImportResult {
  readonly rows: number;
  readonly files: number;
  /** Whether an interrupted import was continued. */
  readonly isContinued: boolean;
}

interface OpenImport extends DataImportOptions {
  readonly cell: PostgresCell;
  readonly files: SharedFiles;
}

/** Commits whose rows are compared or deleted by one statement: about 64 MB. */
const commitsPerStatement = 64;

/**
 * Copies a data directory that no server uses into an empty database and store of files, and compares the copy: each
 * file with its SHA-256, all rows by their number and hashes. An interrupted import is continued by the next one; a
 * server does not start on it. If the data directory has changed since, the rows are copied again.
 *
 * Errors: AppError conflict if the database has other data, bad_request for a damaged or missing file, unavailable.
 */
export async function importData(options: DataImportOptions): Promise<DataImportResult> {
  const { url } = options.target;
  const address = { url, cell: sharedCell };
  const readTarget = async () =>
    decodeSharedData(await explainErrors(url, PostgresCell.peek(address, sharedDataKeys)));
  // Before the takeover, which would end the writes of a server that uses the database.
  checkTarget(await readTarget(), options);
  const cell = await explainErrors(url, PostgresCell.take({ ...address, owner: options.random.uuid() }));
  try {
    const found = await readTarget();
    checkTarget(found, options);
    return await runImport({ ...options, cell, files: openFiles(options, cell) }, found.import ?? null);
  } catch (error) {
    if (!(error instanceof OutcomeUnknownError)) throw error;
    throw new AppError(
      'unavailable',
      'The connection to PostgreSQL was lost. Run the command again; it continues where it was interrupted.',
      { cause: error },
    );
  } finally {
    await cell.close();
  }
}

function checkTarget({ format, import: state }: SharedData, { source, target }: DataImportOptions): void {
  if (format === undefined && (state === undefined || state.lineage === source.lineage)) return;
  throw new AppError(
    'conflict',
    `The database of QUARRY_STORE has ${state === undefined ? 'data' : 'an incomplete import of another data directory'} already. Use an empty database and an empty ${target.files.location}.`,
  );
}

function openFiles({ target, random, logger }: DataImportOptions, cell: PostgresCell): SharedFiles {
  return new SharedFiles({
    target: target.files,
    random,
    logger,
    epoch: () => cell.epoch,
    confirmOwnership: () => cell.confirm(),
  });
}

async function runImport(options: OpenImport, earlier: ImportState | null): Promise<DataImportResult> {
  const { cell, target, source } = options;
  await claimFiles(target.files, cell.incarnation, { isKnown: false });
  await target.files.removeUnfinished();
  const files = await copyFiles(options);
  const digest = await copyRows(options, earlier);
  await compareRows(options, digest);
  const data = { format: currentFormat, files: cell.incarnation, secret: secretProof(source.secrets[0]!) };
  await commit(options, [...putSharedData(data), deleteImportState()]);
  return { rows: Number(digest.numbers[0]), files, isContinued: earlier !== null };
}

async function copyFiles({ source, files, signal, onProgress }: OpenImport): Promise<number> {
  let done = 0;
  for await (const hash of listReferencedBlobs(source.store)) {
    signal.throwIfAborted();
    const path = source.blobs.path(hash);
    if ((await files.size(hash)) === null) {
      await checkSourceFile(path, hash);
      await files.put(hash, path);
    }
    // Compares each piece that was stored, by this or an interrupted import, with the hash.
    for await (const _ of (await files.read(hash)) ?? []);
    done += 1;
    onProgress({ phase: 'files', done });
  }
  return done;
}

async function checkSourceFile(path: string, hash: string): Promise<void> {
  const digest = createHash('sha256');
  try {
    for await (const part of createReadStream(path) as AsyncIterable<Buffer>) digest.update(part);
  } catch (cause) {
    throw new AppError(
      'bad_request',
      `The file ${path} of a document cannot be read: ${(cause as Error).message}. Restore it from a backup, or start the server without QUARRY_STORE and delete or add its document again.`,
      { cause },
    );
  }
  if (digest.digest('hex') === hash) return;
  throw new AppError(
    'bad_request',
    `The file ${path} of a document is damaged. Restore it from a backup, or start the server without QUARRY_STORE and delete or add its document again.`,
  );
}

/** Returns the digest of all rows of the source. */
async function copyRows(options: OpenImport, earlier: ImportState | null): Promise<RowDigest> {
  const { source, cell, signal, onProgress } = options;
  const snapshot = await source.store.snapshot();
  try {
    let state: ImportState = { lineage: source.lineage, sequence: snapshot.sequence, last: Buffer.alloc(0) };
    if (earlier?.sequence === snapshot.sequence) state = earlier;
    else if (earlier !== null) await deleteCopiedRows(cell);
    const digest = new RowDigest();
    const sharedKeys = new Set(sharedDataKeys.map(toKeyText));
    let group = new RowGroup();
    const commitGroup = async () => {
      state = { ...state, last: group.last };
      await commit(options, [...group.operations, ...putSharedData({ import: state })]);
      group = new RowGroup();
      onProgress({ phase: 'rows', done: Number(digest.numbers[0]) });
    };
    // Also without rows: a server must not start on the database from now on.
    if (state !== earlier) await commit(options, putSharedData({ import: state }));
    for (;;) {
      const entries = await snapshot.next();
      if (entries.length === 0) break;
      signal.throwIfAborted();
      for (const entry of entries) {
        if (sharedKeys.has(toKeyText(entry.key))) continue;
        digest.add(entry);
        if (Buffer.compare(entry.key, state.last) <= 0) continue;
        group.add(entry);
        if (group.bytes >= postgresLimits.importBytes) await commitGroup();
      }
    }
    if (group.operations.length > 0) await commitGroup();
    return digest;
  } finally {
    await snapshot.close();
  }
}

async function deleteCopiedRows(cell: PostgresCell): Promise<void> {
  for (let to = commitsPerStatement; ; to += commitsPerStatement) {
    await cell.deleteRows(to, sharedDataKeys);
    if (to >= cell.head) return;
  }
}

async function compareRows({ cell, signal, onProgress }: OpenImport, expected: RowDigest): Promise<void> {
  const found = [0n, 0n, 0n, 0n, 0n];
  for (let after = 0; after < cell.head; after += commitsPerStatement) {
    signal.throwIfAborted();
    const part = await cell.digestRows({ after, to: after + commitsPerStatement }, sharedDataKeys);
    part.forEach((number, i) => {
      found[i]! += number;
    });
    onProgress({ phase: 'check', done: Number(found[0]) });
  }
  if (expected.numbers.every((number, i) => number === found[i])) return;
  throw new AppError(
    'conflict',
    `The copy in PostgreSQL differs from the data directory (${found[0]} of ${expected.numbers[0]} rows). Use an empty database.`,
  );
}

async function commit(
  { cell, random, yieldToEventLoop }: OpenImport,
  operations: readonly PlainOperation[],
): Promise<void> {
  await cell.commit({ id: random.uuid(), operations }, yieldToEventLoop);
}

/** Rows of one commit. */
class RowGroup {
  readonly operations: PlainOperation[] = [];
  bytes = 0;
  last: Uint8Array = Buffer.alloc(0);

  add({ key, value }: Entry): void {
    this.operations.push({ type: 'put', key, value });
    this.bytes += key.byteLength + value.byteLength;
    this.last = key;
  }
}

/** Number of rows, and four sums of parts of their hashes; as `PostgresCell.digestRows`. */
class RowDigest {
  readonly numbers: bigint[] = [0n, 0n, 0n, 0n, 0n];

  add({ key, value }: Entry): void {
    const row = Buffer.concat([sha256(key), sha256(value)]);
    const hash = sha256(row);
    this.numbers[0]! += 1n;
    for (let i = 0; i < 4; i += 1) this.numbers[i + 1]! += hash.readBigInt64BE(i * 8);
  }
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
