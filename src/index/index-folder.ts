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
