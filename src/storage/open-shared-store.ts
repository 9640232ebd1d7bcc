import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { postgresLimits } from '../core/postgres-limits.ts';
import { parsePostgresUrl } from '../core/postgres-url.ts';
import { version } from '../core/version.ts';
import { readIfExists } from './durable-files.ts';
import { parseSecrets, secretsFile } from './installation-secrets.ts';
import type { PostgresStore, PostgresStoreOptions } from './postgres-store.ts';
import {
  claimFiles,
  decodeSharedData,
  provesSecret,
  putSharedData,
  type SharedData,
  sharedDataKeys,
  startupError,
} from './shared-data.ts';
import type { FileTarget } from './shared-files.ts';

/** Place of the data of a node whose data directory is a cache. */
export interface SharedStorage {
  /** postgres://... */
  readonly url: string;
  readonly files: FileTarget;
  /** Size of the local copies of files in bytes. */
  readonly filesCacheBytes: number;
}

/** All data of an installation are in one cell. */
export const sharedCell = 'main';

export interface SharedStoreOptions extends Omit<PostgresStoreOptions, 'url' | 'cell' | 'location'> {
  readonly shared: SharedStorage;
  /** Data directory. */
  readonly path: string;
  /** Newest format that this version can read. */
  readonly currentFormat: number;
}

export interface OpenSharedStore {
  readonly store: PostgresStore;
  /** Format of the data. */
  readonly format: number;
}

/**
 * Takes over the data in PostgreSQL. All checks are made before, so that a server that cannot start does not end the
 * writes of the one that runs, and again afterwards. Loads the client of PostgreSQL, which a server without
 * QUARRY_STORE does not need. Errors: AppError unavailable with a message for the operator, `StoreLockedError`.
 */
export async function openSharedStore(options: SharedStoreOptions): Promise<OpenSharedStore> {
  const { shared, path, currentFormat } = options;
  const { PostgresStore } = await import('./postgres-store.ts');
  const { PostgresCell } = await import('./postgres-cell.ts');
  const { url, files } = shared;
  const address = { url, cell: sharedCell };
  const before = decodeSharedData(await explainErrors(url, PostgresCell.peek(address, sharedDataKeys)));
  await checkSharedData(before, options);
  if (before.files !== undefined) await claimFiles(files, before.files, { isKnown: true });
  const opening = PostgresStore.open({
    ...options,
    ...address,
    location: join(path, 'store'),
    checkMs: postgresLimits.checkMs,
    // The snapshots of the indexes have changes that the replaced copy had.
    onReplace: () => rm(join(path, 'index'), { recursive: true, force: true }),
  });
  const store = await explainErrors(url, opening);
  try {
    const data = decodeSharedData(store.getMany(sharedDataKeys));
    await checkSharedData(data, options);
    const { format = currentFormat, files: marker = store.incarnation } = data;
    await claimFiles(files, marker, { isKnown: data.files !== undefined });
    await files.removeUnfinished();
    if (data.files === undefined)
      await store.write(putSharedData({ format, files: marker }), { mayUseReserve: true });
    return { store, format };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function checkSharedData(
  { format, secret, import: unfinished }: SharedData,
  { path, currentFormat }: Pick<SharedStoreOptions, 'path' | 'currentFormat'>,
): Promise<void> {
  if (unfinished !== undefined)
    throw startupError(
      'The database of QUARRY_STORE has an import that is not complete. Run `quarry cluster import` again.',
    );
  if (format !== undefined && format > currentFormat)
    throw startupError(
      `The database of QUARRY_STORE has format ${format}, written by a newer Quarry version. This version (${version}) supports format ${currentFormat}. Run the newer version.`,
    );
  if (secret !== undefined) await checkSecrets(join(path, secretsFile), secret);
}

async function checkSecrets(file: string, proof: string): Promise<void> {
  const known = await readIfExists(file);
  if (known === null)
    throw startupError(
      `The file ${file} is missing. The database of QUARRY_STORE has data that are encrypted with it, and does not contain it. Copy ${secretsFile} from the data directory of another node or from a backup.`,
    );
  const found = parseSecrets(known);
  if (found === null || !provesSecret([...found.secrets, ...found.retired], proof))
    throw startupError(
      `The file ${file} is damaged or belongs to another installation: the data in the database of QUARRY_STORE are encrypted with another secret. Copy ${secretsFile} from the data directory of another node or from a backup.`,
    );
}

/** Adds the address and the reason to an error of the connection, for the operator who starts the server. */
export async function explainErrors<Result>(url: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof AppError) || error.options.privateDetails?.postgres === undefined) throw error;
    const { host, port, database } = parsePostgresUrl(url);
    const { message, code } = error.cause as { message?: string; code?: string };
    throw startupError(
      `PostgreSQL at ${host}:${port} (database ${database}) cannot be used: ${message || code}.`,
      error,
    );
  }
}
