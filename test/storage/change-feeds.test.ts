import { randomUUID } from 'node:crypto';
import { changeLimits } from '../../src/core/change-limits.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { ChangeFeeds, type StoredChange } from '../../src/storage/change-feeds.ts';
import { tables } from '../../src/storage/keys.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { ExpectationFailedError, type WriteOperation } from '../../src/storage/store.ts';
import t from '../support/tap.ts';

const dayMs = 86_400_000;
const signal = new AbortController().signal;

function changeAt(at: number, path: string): StoredChange {
  const documentId = randomUUID();
  return {
    type: 'document.added',
    at,
    collectionId: randomUUID(),
    collection: 'books',
    path,
    documentId,
    metadata: { ['__proto__']: 'kept', 'list:a': ['b'] },
  };
}

async function open() {
  const store = new MemoryStore();
  const feeds = new ChangeFeeds(store, systemRandom);
  const organizationId = randomUUID();
  const append = (path: string, at = 0) => feeds.append(organizationId, () => changeAt(at, path));
  const paths = async (after = 0) => {
    const found: string[] = [];
    for await (const { sequence, change } of feeds.readAfter(organizationId, after))
      found.push(`${sequence} ${change.path}`);
    return found;
  };
  return { store, feeds, organizationId, append, paths };
}

t.test('nothing is stored for an organization without a feed', async (t) => {
  const { store, feeds, organizationId } = await open();
  const describe = () => t.fail('a change without a feed is not described') as never;
  await store.write([feeds.append(organizationId, describe)]);
  t.equal(feeds.find(organizationId), null);
  t.equal(store.revisionOf(tables.feedChanges), 0);
});

t.test('numbers follow the order of the writes, without gaps for rejected writes', async (t) => {
  const { store, feeds, organizationId, append, paths } = await open();
  const rejected: WriteOperation = {
    type: 'expect',
    key: Buffer.from('missing'),
    holds: (value) => value !== undefined,
    description: 'fails',
  };
  await store.write([append('before')]);
  await feeds.open(organizationId, 5);
  await Promise.all([
    store.write([append('a'), append('b')]),
    store.write([append('x'), rejected]).catch((error) => t.ok(error instanceof ExpectationFailedError)),
    store.write([append('c')]),
  ]);
  t.same(await paths(), ['1 a', '2 b', '3 c']);
  await store.write([append('d')]);
  t.equal(feeds.find(organizationId)?.last, 4);
  t.same(await paths(3), ['4 d']);
});

t.test('concurrent first calls open one feed', async (t) => {
  const { store, feeds, organizationId, append, paths } = await open();
  const states = await Promise.all([1, 2, 3].map((now) => feeds.open(organizationId, now)));
  t.equal(new Set(states.map(({ epoch }) => epoch)).size, 1);
  await store.write([append('a')]);
  t.equal((await feeds.open(organizationId, 2 * dayMs)).last, 1);
  t.same(await paths(), ['1 a']);
  t.same(await feeds.listOrganizations(), [organizationId]);
});

t.test('a change contains the exact metadata', async (t) => {
  const { store, feeds, organizationId, append } = await open();
  await feeds.open(organizationId, 1);
  await store.write([append('a')]);
  for await (const { change } of feeds.readAfter(organizationId, 0))
    t.equal(JSON.stringify(change.metadata), '{"__proto__":"kept","list:a":["b"]}');
});

t.test('old changes and unused feeds are deleted', async (t) => {
  const { store, feeds, organizationId, append, paths } = await open();
  const other = randomUUID();
  await feeds.open(organizationId, 0);
  await feeds.open(other, 0);
  await store.write([append('old', 0), append('new', dayMs), feeds.append(other, () => changeAt(0, 'x'))]);
  await feeds.trim(organizationId, changeLimits.retentionMs + 1, signal);
  t.same(await paths(), ['2 new']);
  t.equal(await feeds.firstSequence(organizationId), 2);
  t.equal(await feeds.deleteIdle(organizationId, changeLimits.idleMs - 1), false);
  t.equal(await feeds.deleteIdle(organizationId, changeLimits.idleMs), true);
  t.same(await paths(), []);
  await store.write([append('later')]);
  t.equal(feeds.find(organizationId), null);
  t.equal(feeds.find(other)?.last, 1, 'the other organization keeps its feed');
  const reopened = await feeds.open(organizationId, changeLimits.idleMs);
  t.match(reopened, { epoch: changeLimits.idleMs, last: 0 });
  await feeds.restartAll(changeLimits.idleMs + 1);
  t.equal(feeds.find(organizationId)?.epoch, changeLimits.idleMs + 1);
});
