import { stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Says what a model is, in the folder of each; written last. */
export const manifestFile = 'quarry.json';

/** Folder of added models in a data directory; each has a folder of its name. */
export function modelsFolder(dataFolder: string): string {
  return join(dataFolder, 'models');
}

/** Changes whenever a model is added or removed. */
export async function readModelsFolderMtimeMs(dataFolder: string): Promise<number> {
  try {
    return (await stat(modelsFolder(dataFolder))).mtimeMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
