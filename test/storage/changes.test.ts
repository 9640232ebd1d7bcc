import { randomUUID } from 'node:crypto';
import { ChangeLog, LiveVersions } from '../../src/storage/changes.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { Sequence } from '../../src/storage/sequence.ts';
import t from '../support/tap.ts';

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

t.test('sequence numbers only increase, across restarts and crashes', async (t) => {
  const store = new MemoryStore();
  let last = 0;
  for (let round = 0; round < 5; round += 1) {
    const sequence = await Sequence.open(store);
    for (let index = 0; index < 1000; index += 1) {
      const number = sequence.next();
      if (number <= last) t.fail(`${number} came after ${last}`);
      last = number;
    }
  }
  t.ok(Number.isSafeInteger(last));
});

t.test('changes replay in order from any point and are trimmed up to a snapshot', async (t) => {
  const store = new MemoryStore();
  const log = new ChangeLog(store);
  const [mine, other] = [randomUUID(), randomUUID()];
  const changes = [
    { sequence: 3, shard: 0, add: 3 },
    { sequence: 70_000, shard: 5, add: 4, remove: 3 },
    { sequence: 2 ** 40, shard: 0, remove: 4 },
  ];
  await store.write([
    ...changes.map((change) => log.put(mine, change)),
    log.put(other, { sequence: 5, shard: 0 }),
  ]);
  t.same(await all(log.readAfter(mine, -1)), changes);
  t.same(await all(log.readAfter(mine, 3)), changes.slice(1));
  t.equal(await log.trim(mine, 70_000, 1), 1);
  t.equal(await log.trim(mine, 70_000, 1), 1);
  t.equal(await log.trim(mine, 70_000, 1), 0);
  t.same(await all(log.readAfter(mine, -1)), changes.slice(2));
  t.equal((await all(log.readAfter(other, 0))).length, 1);
});

t.test('live versions list by shard for a rebuild', async (t) => {
  const store = new MemoryStore();
  const live = new LiveVersions(store);
  const collectionId = randomUUID();
  const entries = [
    { shard: 0, version: 9, documentId: randomUUID() },
    { shard: 2, version: 1, documentId: randomUUID() },
    { shard: 2, version: 2 ** 33, documentId: randomUUID() },
  ];
  await store.write(entries.map((entry) => live.put(collectionId, entry)));
  t.same(await all(live.list(collectionId)), entries);
  t.same(await all(live.list(collectionId, 2)), entries.slice(1));
  await store.write([live.delete(collectionId, { shard: 2, version: 1 })]);
  t.equal((await all(live.list(collectionId, 2))).length, 1);
});
