import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CollectionIndex } from '../../src/index/collection-index.ts';
import t from '../support/tap.ts';
import { anything, freshDirectory, hasCode, vectors } from './collection-index-fixtures.ts';
import { hitsOf, indexQuery, makeDocument, openIndex } from './samples.ts';

t.test('unsupported kernels are rejected with a list of the supported ones', (t) => {
  const foreign = process.arch === 'x64' ? 'neon' : 'avx512';
  t.throws(() => CollectionIndex.useKernels(foreign), {
    name: 'AppError',
    code: 'invalid',
    message: new RegExp(`^QUARRY_ENGINE_KERNELS is ${foreign}, but this processor supports only scalar`),
  });
  CollectionIndex.useKernels('scalar');
  CollectionIndex.useKernels('auto');
  t.end();
});

t.test(
  'a document is invisible until it is committed, complete afterwards and absent once removed',
  async (t) => {
    const index = await openIndex(freshDirectory(), { shards: 8 });
    t.same(
      index.shards,
      Array.from({ length: 8 }, (_, shard) => ({ shard, sequence: -1, state: 'fresh', reason: null })),
    );
    await index.stage(makeDocument({ shard: 3, version: 7 }, [vectors(), vectors(), vectors()]));
    t.equal((await index.search(indexQuery(anything))).count, 0);
    index.commit({ sequence: 1, shard: 3, add: 7 });
    const hits = await hitsOf(index, anything);
    t.same(
      hits.map(({ version, chunk }) => [version, chunk]),
      [
        [7, 0],
        [7, 1],
        [7, 2],
      ],
    );
    index.commit({ sequence: 2, shard: 3, remove: 7 });
    t.equal((await index.search(indexQuery(anything))).count, 0);
    t.equal(index.count(null), 0);
    await index.close();
  },
);

t.test('invalid input is rejected with its error code and changes nothing', async (t) => {
  const directory = freshDirectory();
  const index = await openIndex(directory);
  t.throws(() => index.commit({ sequence: 1, shard: 0, add: 1 }), hasCode('unstaged'));
  const fine = makeDocument({ shard: 0, version: 1 }, [vectors()]);
  await t.rejects(index.stage({ ...fine, vectors: new Float32Array(7) }), hasCode('invalid'));
  await t.rejects(index.stage({ ...fine, terms: new Uint8Array(3) }), hasCode('invalid'));
  await t.rejects(
    index.stage({ ...fine, vectors: new Float32Array(8).fill(Number.NaN) }),
    hasCode('invalid'),
  );
  await t.rejects(index.stage({ ...fine, shard: 1 }), hasCode('invalid'));
  await t.rejects(index.search(indexQuery({ vector: new Float32Array(9) })), TypeError);
  await index.stage(fine);
  index.commit({ sequence: 5, shard: 0, add: 1 });
  await index.stage({ ...fine, version: 2 });
  t.throws(() => index.commit({ sequence: 4, shard: 0, add: 2 }), hasCode('sequence'));
  index.discard(0, 2);
  index.discard(0, 2);
  t.throws(() => index.commit({ sequence: 6, shard: 0, add: 2 }), hasCode('unstaged'));
  await t.rejects(openIndex(directory, { dimensions: 9 }), hasCode('conflict'));
  t.equal(index.count(null), 1);
  await index.close();
});

t.test('an index can be closed at any time and twice; later calls fail with closed', async (t) => {
  const directory = freshDirectory();
  for (let round = 0; round < 20; round++) {
    const index = await openIndex(directory);
    const document = makeDocument(
      { shard: 0, version: round },
      Array.from({ length: 200 }, () => vectors()),
    );
    const work = [
      index.stage(document),
      index.search(indexQuery(anything)),
      index.list(null, 10),
      index.snapshot(),
      ...Array.from({ length: 50 }, () => index.search(indexQuery(anything))),
    ];
    for (let waits = round % 4; waits > 0; waits--) await new Promise((resolve) => setImmediate(resolve));
    const closing = index.close();
    t.equal(index.close(), closing);
    const abortReasons = await Promise.allSettled(work);
    for (const abortReason of abortReasons) {
      if (abortReason.status === 'rejected') t.match(abortReason.reason, hasCode('canceled'));
    }
    await closing;
    t.throws(() => index.count(null), hasCode('closed'));
    t.throws(() => index.commit({ sequence: 100, shard: 0 }), hasCode('closed'));
    await t.rejects(index.stage(document), hasCode('closed'));
    await t.rejects(index.search(indexQuery(anything)), hasCode('closed'));
    await t.rejects(index.snapshot(), hasCode('closed'));
  }
});

t.test('close: each running search completes or is canceled', async (t) => {
  const directory = freshDirectory();
  for (let round = 0; round < 12; round++) {
    const index = await openIndex(directory, { shards: 16 });
    for (let shard = 0; shard < 16; shard++) {
      const rows = Array.from({ length: 250 }, () => vectors());
      await index.stage(makeDocument({ shard, version: round * 16 + shard }, rows));
      index.commit({ sequence: round * 16 + shard, shard, add: round * 16 + shard });
    }
    const work = Array.from({ length: 20 }, () => index.search(indexQuery(anything)));
    for (let waits = round; waits > 0; waits--) await new Promise((resolve) => setImmediate(resolve));
    const closing = index.close();
    for (const abortReason of await Promise.allSettled(work)) {
      if (abortReason.status === 'rejected') t.match(abortReason.reason, hasCode('canceled'));
      else t.equal(abortReason.value.count, 4000);
    }
    await closing;
  }
});

t.test('two handles of one collection share its memory; drop closes both', async (t) => {
  const directory = freshDirectory();
  const [first, second] = await Promise.all([openIndex(directory), openIndex(directory)]);
  await first.stage(makeDocument({ shard: 0, version: 1 }, [vectors()]));
  first.commit({ sequence: 1, shard: 0, add: 1 });
  t.equal((await second.search(indexQuery(anything))).count, 1);
  await first.close();
  t.equal((await second.search(indexQuery(anything))).count, 1);
  const third = await openIndex(directory);
  await second.drop();
  await t.rejects(third.stage(makeDocument({ shard: 0, version: 2 }, [vectors()])), hasCode('closed'));
  const fourth = await openIndex(directory);
  t.equal(fourth.count(null), 0);
  await third.close();
  t.equal(fourth.count(null), 0);
  await fourth.close();
});

t.test('an unusable directory fails with an error that names it', async (t) => {
  const path = freshDirectory();
  writeFileSync(path, 'a file');
  await t.rejects(
    CollectionIndex.open({ collectionId: 'x', dimensions: 8, shards: 1, directory: join(path, 'index') }),
    { ...hasCode('io'), message: path },
  );
});
