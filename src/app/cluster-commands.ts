import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Settings } from '../config/schema.ts';
import { AppError } from '../core/app-error.ts';
import { createLogger } from '../core/logger.ts';
import { openDataDirectory } from '../storage/data-directory.ts';
import { type DataImportProgress, type DataImportResult, importData } from '../storage/import-data.ts';
import { backgroundScheduler, random } from './runtime.ts';
import { openSharedStorage } from './shared-storage.ts';

/** Operations of the command line on data in PostgreSQL, in its own process. */

export interface ImportCommand {
  readonly settings: Settings;
  /** Data directory of a server without QUARRY_STORE. */
  readonly path: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: DataImportProgress) => void;
}

/** Copies a data directory that no server uses into PostgreSQL. Errors: AppError. */
export async function importDirectory({
  settings,
  path,
  signal,
  onProgress,
}: ImportCommand): Promise<DataImportResult> {
  const target = openSharedStorage(settings);
  if (target === null)
    throw new AppError('bad_request', 'Set QUARRY_STORE and QUARRY_FILES to the target of the import.');
  if (!(await exists(join(path, 'format.json'))))
    throw new AppError('bad_request', `The folder ${path} is not a data directory: it has no format.json.`);
  const logger = createLogger('error', settings.logFormat);
  const source = await openDataDirectory({ path, reserveBytes: 0, logger, random, backgroundScheduler });
  try {
    const yieldToEventLoop = backgroundScheduler.slice();
    return await importData({ source, target, random, logger, signal, yieldToEventLoop, onProgress });
  } finally {
    await source.close();
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
