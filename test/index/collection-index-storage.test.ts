import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CollectionIndex } from '../../src/index/collection-index.ts';
import t from '../support/tap.ts';
import { anything, freshDirectory, vectors } from './collection-index-fixtures.ts';
import { hitsOf, indexQuery, makeDocument, openIndex } from './samples.ts';

t.test('a snapshot restores all results, and a damaged or missing file is reported', async (t) => {
  const directory = freshDirectory();
  const options = { shards: 8, dimensions: 8 };
  const ask = { ...anything, terms: [{ hash: 1n, weight: 1, group: 0 }] };
  let index = await openIndex(directory, options);
  t.same(await index.snapshot().then(({ sequence }) => sequence), -1, 'an empty collection has a snapshot');
  for (let version = 0; version < 50; version++) {
    const attributes = { mod: String(version % 3) };
    await index.stage(makeDocument({ shard: version % 8, version }, [vectors(), vectors()], attributes));
    index.commit({ sequence: version, shard: version % 8, add: version });
  }
  index.commit({ sequence: 50, shard: 1, remove: 1 });
  const { sequence, bytes } = await index.snapshot();
  t.equal(sequence, 50);
  t.ok(bytes > 0);
  const expected = await hitsOf(index, ask);
  await index.close();

  index = await openIndex(directory, options);
  t.ok(index.shards.every((shard) => shard.state === 'loaded' && shard.sequence === 50));
  t.same(await hitsOf(index, ask), expected);
  t.equal(index.count({ kind: 'compare', attribute: 'mod', operator: 'eq', value: '0' }), 17);
  t.equal((await index.snapshot()).bytes, 0, 'unchanged shards are not written again');
  index.commit({ sequence: 51, shard: 2, remove: 2 });
  t.equal((await index.snapshot()).sequence, 51);
  await index.close();

  const file = join(directory, 'index', 'shard-04.quarry');
  const damaged = readFileSync(file);
  damaged[damaged.length - 5] = (damaged[damaged.length - 5] ?? 0) ^ 1;
  writeFileSync(file, damaged);
  index = await openIndex(directory, options);
  t.match(index.shards[4], { state: 'damaged', sequence: -1, reason: /checksum/ });
  t.match(index.shards[3], { state: 'loaded', sequence: 50 });
  t.match(index.shards[2], { state: 'loaded', sequence: 51 });
  t.equal(index.count(null), 48 - 6);
  await index.drop();

  index = await openIndex(directory, options);
  t.ok(index.shards.every((shard) => shard.state === 'fresh'));
  await index.drop();
});

t.test('rows of removed versions are compacted during searches and staging', async (t) => {
  const index = await openIndex(freshDirectory());
  let sequence = 0;
  for (let round = 0; round < 60; round++) {
    const version = round + 1;
    await index.stage(
      makeDocument(
        { shard: 0, version },
        Array.from({ length: 40 }, () => vectors()),
        { round: String(round) },
      ),
    );
    sequence++;
    index.commit({ sequence, shard: 0, add: version, ...(round > 4 && { remove: version - 5 }) });
    t.equal((await index.search(indexQuery(anything))).count, Math.min(version, 5) * 40);
  }
  while (index.statistics().deadRows > 40 * 7) await new Promise((resolve) => setTimeout(resolve, 5));
  const statistics = index.statistics();
  t.equal(statistics.rows, 200);
  t.equal(statistics.documents, 5);
  const { vectors_in_file: inFile, ...bytes } = statistics.bytes;
  t.equal(inFile, 0, 'nothing was written to a file');
  const parts = ['attributes', 'codes', 'documents', 'links', 'postings', 'vectors_in_memory'];
  t.same(Object.keys(bytes).sort(), parts);
  t.ok(Object.values(bytes).every((count) => count > 0));
  await index.close();
});

t.test('a compaction that needs too much memory continues when memory is available', async (t) => {
  const index = await openIndex(freshDirectory());
  t.teardown(() => CollectionIndex.useMemoryBytesMax(0));
  CollectionIndex.useMemoryBytesMax(1);
  for (let version = 1; version <= 20; version++) {
    const rows = Array.from({ length: 40 }, () => vectors());
    await index.stage(makeDocument({ shard: 0, version }, rows, {}));
    index.commit({ sequence: version, shard: 0, add: version });
  }
  for (let version = 1; version <= 10; version++)
    index.commit({ sequence: 20 + version, shard: 0, remove: version });
  while (CollectionIndex.deferredCompactions() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  t.match(index.statistics(), { rows: 400, deadRows: 400, compactions: 0 });
  CollectionIndex.useMemoryBytesMax(0);
  while (index.statistics().deadRows > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  t.match(index.statistics(), { rows: 400, compactions: 1 });
  while (CollectionIndex.deferredCompactions() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  // A deferred compaction must not block close().
  CollectionIndex.useMemoryBytesMax(1);
  for (let version = 11; version < 20; version++)
    index.commit({ sequence: 20 + version, shard: 0, remove: version });
  while (CollectionIndex.deferredCompactions() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await index.close();
  while (CollectionIndex.deferredCompactions() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
});
