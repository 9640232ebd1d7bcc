import { stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Says what a model is, in the folder of each; written last. */
export const manifestFile = 'quarry.json';

/** Folder of added models in a data directory; each has a folder of its name. */
export function modelsFolder(data: string): string {
  return join(data, 'models');
}

/** Changes whenever a model is added or removed. */
export async function folderStamp(data: string): Promise<number> {
  try {
    return (await stat(modelsFolder(data))).mtimeMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
