import { CollectionIndex, type IndexError } from '../../src/index/collection-index.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import t from '../support/tap.ts';
import { anything, freshDirectory, hasCode, vectors } from './collection-index-fixtures.ts';
import { indexQuery, makeDocument, openIndex } from './samples.ts';

t.test('hundreds of concurrent searches each get their own result', async (t) => {
  const index = await openIndex(freshDirectory());
  for (let version = 0; version < 20; version++) {
    const rows = Array.from({ length: 200 }, () => vectors());
    await index.stage(makeDocument({ shard: 0, version }, rows));
    index.commit({ sequence: version, shard: 0, add: version });
  }
  const expected = Array.from({ length: 500 }, (_, i) => i + 1);
  const found = await Promise.all(
    expected.map((vectorCandidates) => index.search(indexQuery({ ...anything, vectorCandidates }))),
  );
  t.same(
    found.map(({ count }) => count),
    expected,
  );
  await index.close();
});

t.test('a search ends early at its deadline or when its signal is aborted', async (t) => {
  const index = await openIndex(freshDirectory());
  for (let version = 0; version < 40; version++) {
    await index.stage(
      makeDocument(
        { shard: 0, version },
        Array.from({ length: 100 }, () => vectors()),
      ),
    );
    index.commit({ sequence: version, shard: 0, add: version });
  }
  await t.rejects(index.search(indexQuery({ ...anything, deadlineMs: 0 })), hasCode('deadline'));
  await t.rejects(index.list(null, 10, 0), hasCode('deadline'));
  const before = new AbortController();
  before.abort();
  await t.rejects(
    index.search(indexQuery({ ...anything, caller: cancellationTokenWith(before.signal) })),
    hasCode('canceled'),
  );
  const during = new AbortController();
  const caller = cancellationTokenWith(during.signal);
  const searches = Array.from({ length: 300 }, () =>
    index.search(indexQuery({ ...anything, caller })).then(
      () => 'found',
      (error: IndexError) => error.code,
    ),
  );
  during.abort();
  const abortReasons = await Promise.all(searches);
  t.ok(abortReasons.includes('canceled'));
  t.ok(abortReasons.every((abortReason) => abortReason === 'canceled' || abortReason === 'found'));
  await index.close();
});

t.test('searches beyond the queue capacity fail with busy, the others succeed', async (t) => {
  const index = await openIndex(freshDirectory());
  await index.stage(
    makeDocument(
      { shard: 0, version: 1 },
      Array.from({ length: 1500 }, () => vectors()),
    ),
  );
  index.commit({ sequence: 1, shard: 0, add: 1 });
  const answers = Promise.all(
    Array.from({ length: 5000 }, () =>
      index.search(indexQuery(anything)).then(
        (hits) => hits.count,
        (error: IndexError) => error.code,
      ),
    ),
  );
  t.ok(CollectionIndex.queuedCalls() > 0);
  const abortReasons = await answers;
  t.ok(abortReasons.includes('busy'));
  t.ok(abortReasons.every((abortReason) => abortReason === 'busy' || abortReason === 1500));
  t.equal((await index.search(indexQuery(anything))).count, 1500, 'the queue has space again');
  t.equal(CollectionIndex.queuedCalls(), 0);
  await index.close();
});
