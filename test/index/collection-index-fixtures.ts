import { join } from 'node:path';
import t from '../support/tap.ts';
import { createTemporaryFolder, randomClusters, seededRandom } from './samples.ts';

const folder = createTemporaryFolder();
t.teardown(folder.remove);

/** Creates vectors of 8 dimensions in 5 clusters. */
export const vectors = randomClusters(8, 5, seededRandom(1));

/** Query that all rows match. */
export const anything = { vector: vectors(), vectorCandidates: 100_000 };

let directories = 0;

/** Path of a directory that does not exist yet. */
export function freshDirectory(): string {
  directories++;
  return join(folder.path, String(directories));
}

/** Pattern of an error of the index with this code. */
export function hasCode(code: string) {
  return { name: 'IndexError', code };
}
