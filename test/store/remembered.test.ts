import t from 'tap';
import { Collections } from '../../src/store/collections.ts';
import { Counts } from '../../src/store/counts.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import { Remembered } from '../../src/store/remembered.ts';

const organisations = [
  '00000000-0000-4000-8000-000000000001',
  '00000000-0000-4000-8000-000000000002',
] as const;

function collection(collectionId: string, fields: object = {}) {
  const [organizationId] = organisations;
  const whole = { organizationId, name: 'papers', shards: 1, dimensions: 8, createdAt: 0, languages: [] };
  return { ...whole, collectionId, ...fields };
}

t.test('a record is read once until something is written to its table', (t) => {
  const revisions = [0, 0];
  const remembered = new Remembered<{ reads: number }>({ revisionOf: (table) => revisions[table]! }, 1);
  let reads = 0;
  const read = () => {
    reads += 1;
    return { reads };
  };
  t.equal(remembered.get('a', read).reads, 1);
  t.equal(remembered.get('a', read).reads, 1);
  t.equal(remembered.get('b', read).reads, 2, 'another key');
  revisions[0]! += 1;
  t.equal(remembered.get('a', read).reads, 1, 'another table');
  revisions[1]! += 1;
  t.equal(remembered.get('a', read).reads, 3);
  t.end();
});

t.test('what does not exist is looked for every time', (t) => {
  const remembered = new Remembered<object>({ revisionOf: () => 0 }, 1);
  t.equal(
    remembered.get('a', () => undefined),
    undefined,
  );
  t.same(
    remembered.get('a', () => ({ here: true })),
    { here: true },
  );
  t.end();
});

t.test('a collection is what the last acknowledged write made it, and nobody else sees it', async (t) => {
  const store = new MemoryStore();
  const collections = new Collections(store);
  const [mine, theirs] = organisations;
  const ids = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b'] as const;
  const found = () => collections.get(mine, 'papers');
  t.equal(found(), undefined);
  await store.write(collections.create(collection(ids[0])));
  t.equal(found()?.collectionId, ids[0]);
  t.equal(found(), found(), 'read once');
  t.equal(collections.get(theirs, 'papers'), undefined);
  await store.write(collections.create(collection(ids[1], { organizationId: theirs })));
  t.equal(collections.get(theirs, 'papers')?.collectionId, ids[1]);
  await store.write(collections.update(collection(ids[0], { languages: ['en'] })));
  t.same(found()?.languages, ['en']);
  await store.write(collections.delete(collection(ids[0]), 1));
  t.equal(found(), undefined);
  await store.close();
});

t.test('counts are exact after every write', async (t) => {
  const store = new MemoryStore();
  const counts = new Counts(store);
  const id = '00000000-0000-4000-8000-00000000000a';
  t.equal(counts.get(id).indexedBytes, 0);
  for (let bytes = 1; bytes <= 3; bytes += 1) {
    await store.write([counts.change(id, { from: null, to: 'indexed', bytes: 10 })]);
    t.same([counts.get(id).documents.indexed, counts.get(id).indexedBytes], [bytes, bytes * 10]);
  }
  await store.close();
});
