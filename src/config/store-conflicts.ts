import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError } from '../core/app-error.ts';
import { parsePostgresUrl } from '../core/postgres-url.ts';
import type { Settings } from './schema.ts';

type StoreSettings = Pick<Settings, 'store' | 'files' | 'data' | 'egress'>;

/** Returns conflicts between the settings of the place of the data. */
export function findStoreConflicts({ store, files, data, egress }: StoreSettings): string[] {
  if (store === null)
    return files === null
      ? []
      : [
          'QUARRY_FILES is set without QUARRY_STORE; set it to the database of the data, or unset QUARRY_FILES.',
        ];
  const problems: string[] = [];
  try {
    parsePostgresUrl(store);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    problems.push(error.message);
  }
  if (egress === 'none')
    problems.push('QUARRY_STORE needs a connection to PostgreSQL, but QUARRY_EGRESS is none.');
  if (files === null)
    problems.push(
      'QUARRY_STORE is set without QUARRY_FILES; set it to the shared folder or bucket for the files of documents.',
    );
  else if (files.startsWith('file:')) problems.push(...findFolderConflicts(files, data));
  return problems;
}

function findFolderConflicts(files: string, data: string): string[] {
  let folder: string;
  try {
    folder = fileURLToPath(files);
  } catch (error) {
    return [`QUARRY_FILES is ${files}; it is not the URL of a folder: ${(error as Error).message}.`];
  }
  return `${resolve(folder)}/`.startsWith(`${resolve(data)}/`)
    ? [`QUARRY_FILES is ${files}; it must be outside the data directory ${data}, which is only a cache.`]
    : [];
}
