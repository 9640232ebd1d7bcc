import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hasErrorCode } from '../core/error-code.ts';
import { uuidPattern } from '../core/ids.ts';

/** The vectors of one generation of a collection have one index, in one folder. */
export interface IndexGeneration {
  readonly collectionId: string;
  readonly generation: number;
}

/**
 * Returns the folder name of an index. Generation 0, the initial vectors of a collection, has no suffix, as
 * in the first builds.
 */
export function formatFolderName({ collectionId, generation }: IndexGeneration): string {
  return generation === 0 ? collectionId : `${collectionId}.${generation}`;
}

/** Returns null for a folder of another kind. */
export function parseFolderName(name: string): IndexGeneration | null {
  const [collectionId = '', generation = '0'] = name.split('.');
  return uuidPattern.test(collectionId) ? { collectionId, generation: Number(generation) } : null;
}

/** Bytes of the files in a folder; 0 if it does not exist. Files that are replaced meanwhile do not count. */
export async function folderBytes(folder: string): Promise<number> {
  const ignoreMissing = (error: unknown) => {
    if (!hasErrorCode(error, 'ENOENT')) throw error;
    return null;
  };
  const names = await readdir(folder, { recursive: true }).catch(ignoreMissing);
  let sum = 0;
  for (const name of names ?? []) {
    const found = await stat(join(folder, name)).catch(ignoreMissing);
    if (found?.isFile() === true) sum += found.size;
  }
  return sum;
}
