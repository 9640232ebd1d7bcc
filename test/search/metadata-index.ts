import { join } from 'node:path';
import type { IndexValue } from '../../src/index/encoding.ts';
import { createTemporaryFolder, makeDocument, openIndex, randomClusters } from '../index/samples.ts';
import type { Test } from '../support/tap.ts';

/** Opens an index of one shard with a document for each metadata; the version of a document is its position. */
export async function openMetadataIndex(
  t: Test,
  documents: readonly Readonly<Record<string, IndexValue>>[],
  random: () => number,
) {
  const folder = createTemporaryFolder();
  t.teardown(folder.remove);
  const index = await openIndex(join(folder.path, 'index'));
  const vectors = randomClusters(8, 5, random);
  for (const [version, metadata] of documents.entries()) {
    await index.stage(makeDocument({ shard: 0, version }, [vectors()], metadata));
    index.commit({ sequence: version, shard: 0, add: version });
  }
  return index;
}
