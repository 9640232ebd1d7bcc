import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hasErrorCode } from '../core/error-code.ts';

/** Name of the manifest in each model's folder; written last, so that its presence marks a complete model. */
export const manifestFile = 'quarry.json';

/** Returns the folder of added models in a data directory; it has one subfolder per model, named by its id. */
export function modelsFolder(dataFolder: string): string {
  return join(dataFolder, 'models');
}

/** Returns a timestamp that changes whenever a model is added or removed; 0 if the folder does not exist. */
export async function readModelsFolderMtimeMs(dataFolder: string): Promise<number> {
  try {
    return (await stat(modelsFolder(dataFolder))).mtimeMs;
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return 0;
    throw error;
  }
}
