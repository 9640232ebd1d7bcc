import {
  type Collection,
  Collections,
  cancelVectorChange,
  completeVectorChange,
  getVectorState,
  startVectorChange,
  type VectorState,
} from '../../src/storage/collections.ts';
import { Counts } from '../../src/storage/counts.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { RecordCache } from '../../src/storage/record-cache.ts';
import { ExpectationFailedError } from '../../src/storage/store.ts';
import t from '../support/tap.ts';

const organizations = [
  '00000000-0000-4000-8000-000000000001',
  '00000000-0000-4000-8000-000000000002',
] as const;

function collection(collectionId: string, fields: object = {}): Collection {
  const [organizationId] = organizations;
  const whole = { organizationId, name: 'papers', shards: 1, dimensions: 8, createdAt: 0, languages: [] };
  return { ...whole, collectionId, ...fields };
}

t.test('a record is read once until its table is written', (t) => {
  const revisions = [0, 0];
  const recordCache = new RecordCache<{ reads: number }>({ revisionOf: (table) => revisions[table]! }, 1);
  let reads = 0;
  const read = () => {
    reads += 1;
    return { reads };
  };
  t.equal(recordCache.get('a', read).reads, 1);
  t.equal(recordCache.get('a', read).reads, 1);
  t.equal(recordCache.get('b', read).reads, 2, 'another key');
  revisions[0]! += 1;
  t.equal(recordCache.get('a', read).reads, 1, 'another table');
  revisions[1]! += 1;
  t.equal(recordCache.get('a', read).reads, 3);
  t.end();
});

t.test('a record of two tables is read again when either of them is written to', (t) => {
  const revisions = [0, 0, 0];
  const recordCache = new RecordCache<{ reads: number }>({ revisionOf: (table) => revisions[table]! }, 1, 2);
  let reads = 0;
  const read = () => {
    reads += 1;
    return { reads };
  };
  t.same([recordCache.get('a', read).reads, recordCache.get('a', read).reads], [1, 1]);
  revisions[1]! += 1;
  t.equal(recordCache.get('a', read).reads, 2);
  revisions[2]! += 1;
  t.equal(recordCache.get('a', read).reads, 3);
  t.end();
});

t.test('a write of a stale collection record does not restore replaced vectors', async (t) => {
  const store = new MemoryStore();
  const collections = new Collections(store);
  const old = collection('00000000-0000-4000-8000-00000000000a');
  await store.write(collections.create(old));
  const change = async (after: VectorState) => {
    const before = getVectorState(collections.findById(old.collectionId)!);
    await store.write(collections.putVectors(old.collectionId, before, after));
    await t.rejects(
      store.write(collections.putVectors(old.collectionId, before, after)),
      ExpectationFailedError,
    );
  };
  const begun = startVectorChange(getVectorState(old), { id: 'better', version: '2', dimensions: 16 });
  await change(begun);
  t.match(collections.findById(old.collectionId), { dimensions: 8, vectors: { generation: 0 } });
  const stale = collections.findById(old.collectionId)!;
  await change(completeVectorChange(begun, begun.next!));
  await store.write(collections.update({ ...stale, languages: ['en'] }));
  const model = { id: 'better', version: '2' };
  const expected = { dimensions: 16, model, languages: ['en'], vectors: { generation: 1, next: null } };
  t.match(collections.findById(old.collectionId), expected);
  t.match((await collections.listAll())[0], expected);
  t.match((await collections.list(old.organizationId))[0], expected);
  await store.close();
});

t.test('vectors being built never replace active ones, across repeated starts and cancellations', (t) => {
  let state = getVectorState(collection('00000000-0000-4000-8000-00000000000a'));
  const generations = new Set([0]);
  for (const [i, isKept] of [true, false, false, true, false, true, true].entries()) {
    const begun = startVectorChange(state, { id: 'm', version: String(i), dimensions: 8 });
    const { generation } = begun.next!;
    t.equal(Math.abs(generation - state.generation) % 2, 1, `${generation} beside ${state.generation}`);
    t.notOk(generations.has(generation), 'a separate number');
    generations.add(generation);
    state = isKept ? completeVectorChange(begun, begun.next!) : cancelVectorChange(begun);
  }
  t.end();
});

t.test('a missing record is not cached', (t) => {
  const recordCache = new RecordCache<object>({ revisionOf: () => 0 }, 1);
  t.equal(
    recordCache.get('a', () => undefined),
    undefined,
  );
  t.same(
    recordCache.get('a', () => ({ here: true })),
    { here: true },
  );
  t.end();
});

t.test('a collection record reflects the last acknowledged write, in its organization only', async (t) => {
  const store = new MemoryStore();
  const collections = new Collections(store);
  const [mine, theirs] = organizations;
  const ids = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b'] as const;
  const found = () => collections.find(mine, 'papers');
  t.equal(found(), undefined);
  await store.write(collections.create(collection(ids[0])));
  t.equal(found()?.collectionId, ids[0]);
  t.equal(found(), found(), 'read once');
  t.equal(collections.find(theirs, 'papers'), undefined);
  await store.write(collections.create(collection(ids[1], { organizationId: theirs })));
  t.equal(collections.find(theirs, 'papers')?.collectionId, ids[1]);
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
