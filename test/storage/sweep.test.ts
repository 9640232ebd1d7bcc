import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRandom } from '../../src/core/ids.ts';
import { limits } from '../../src/core/limits.ts';
import { putBlobReference } from '../../src/storage/blob-references.ts';
import { Blobs } from '../../src/storage/blobs.ts';
import { ChangeLog, LiveVersions } from '../../src/storage/changes.ts';
import { type Collection, Collections } from '../../src/storage/collections.ts';
import { Contents } from '../../src/storage/content.ts';
import { Counts } from '../../src/storage/counts.ts';
import { Documents } from '../../src/storage/documents.ts';
import { collectGarbage, putGarbage } from '../../src/storage/garbage.ts';
import { putJob } from '../../src/storage/jobs.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import type { Store } from '../../src/storage/store.ts';
import { sweepCollections } from '../../src/storage/sweep.ts';
import { Versions } from '../../src/storage/versions.ts';
import t from '../support/tap.ts';
import { collection, document, job, version } from './records.ts';

const folder = mkdtempSync(join(tmpdir(), 'quarry-sweep-'));
t.after(() => rmSync(folder, { recursive: true, force: true }));

async function openStores(): Promise<{ store: Store; blobs: Blobs }> {
  const store = new MemoryStore();
  return {
    store,
    blobs: await Blobs.open({ directory: join(folder, randomUUID()), store, random: systemRandom }),
  };
}

async function keyCount(store: Store): Promise<number> {
  let count = 0;
  for await (const _ of store.range({ values: false })) count += 1;
  return count;
}

/** Adds a document with content and blob; every odd one is being overwritten while search still returns the old version. */
async function addDocument(
  { store, blobs }: { store: Store; blobs: Blobs },
  owner: Collection,
  number: number,
) {
  const { collectionId } = owner;
  const contents = new Contents(store);
  const oldId = randomUUID();
  const newId = number % 2 === 0 ? oldId : randomUUID();
  const oldBlob = await blobs.put(Buffer.from(`old ${number}`));
  const newBlob = oldId === newId ? oldBlob : await blobs.put(Buffer.from(`new ${number}`));
  const path = `path ${number}`;
  const current = { collectionId, path, documentId: newId, rawHash: newBlob.hash, version: number * 2 + 1 };
  const live = { shard: 0, version: number * 2 };
  await store.write([
    ...new Documents(store).put(document({ ...current, live: live.version, liveDocumentId: oldId }), null),
    new Versions(store).put(version({ ...current, documentId: oldId, rawHash: oldBlob.hash, ...live })),
    putBlobReference(oldBlob.hash, oldId),
    putBlobReference(newBlob.hash, newId),
    contents.parsed.putPage(oldId, 0, 'text'),
    contents.parsed.putPage(newId, 0, 'text'),
    putJob(job({ version: current.version, collectionId })),
    new LiveVersions(store).put(collectionId, { ...live, documentId: oldId }),
    new ChangeLog(store).put(collectionId, { sequence: number, shard: 0, add: live.version }),
    new Counts(store).change(collectionId, { from: null, to: 'indexed', bytes: 1 }),
  ]);
  oldBlob.release();
  newBlob.release();
}

t.test('a sweep deletes all data of a collection and of no other, also when interrupted', async (t) => {
  const parts = await openStores();
  const { store, blobs } = parts;
  const collections = new Collections(store);
  const [kept, deleted] = [collection({ name: 'kept' }), collection({ name: 'deleted' })];
  await store.write([...collections.create(kept), ...collections.create(deleted)]);
  await addDocument(parts, kept, 1);
  const before = await keyCount(store);
  const blobsBefore = await blobs.size(new Documents(store).get(kept.collectionId, 'path 1')?.rawHash ?? '');
  for (let number = 2; number < 90; number += 1) await addDocument(parts, deleted, number);

  await store.write(collections.delete(deleted, 1_000));
  t.same(
    await sweepCollections(parts, 1_000 + limits.garbageDelayMs - 1),
    [],
    'running queries still read it',
  );
  const now = 1_000 + limits.garbageDelayMs;
  const stopper = new AbortController();
  const interrupted = sweepCollections(parts, now, stopper.signal);
  setImmediate(() => stopper.abort());
  t.same(await interrupted, []);
  t.equal((await collections.listTombstones()).length, 1, 'an interrupted sweep continues later');
  t.same(await sweepCollections(parts, now), [deleted.collectionId]);
  t.same(await sweepCollections(parts, now), []);
  // Besides those of its documents, the deleted collection had two keys.
  t.equal(await keyCount(store), before - 2);
  t.equal(await blobs.deleteOrphans(), 0, 'its blobs are already deleted');
  t.equal(blobsBefore, 5);
  t.equal(await blobs.size(new Documents(store).get(kept.collectionId, 'path 1')?.rawHash ?? ''), 5);
});

t.test('garbage is deleted after its delay, not before, with its blob; shared content stays', async (t) => {
  const parts = await openStores();
  const { store, blobs } = parts;
  const contents = new Contents(store);
  const [collectionId, documentId, other] = [randomUUID(), randomUUID(), randomUUID()];
  const blob = await blobs.put(Buffer.from('raw'));
  const pages = Array.from({ length: limits.sweepOperationsMax + 5 }, (_, page) =>
    contents.parsed.putPage(documentId, page, 'x'),
  );
  await store.write([
    ...pages,
    contents.parsed.putPage(other, 0, 'stays'),
    putBlobReference(blob.hash, documentId),
    new Versions(store).put(version({ collectionId, version: 7, documentId })),
    new Versions(store).put(version({ collectionId, version: 8, documentId: other })),
    putGarbage({ collectionId, version: 7, content: { documentId, rawHash: blob.hash } }, 1_000),
    putGarbage({ collectionId, version: 8, content: null }, 1_000),
  ]);
  blob.release();
  t.equal(await collectGarbage(parts, 1_000 + limits.garbageDelayMs - 1), 0);
  t.same((await contents.deleteAll(documentId, 1)).length, 1);
  t.equal(await collectGarbage(parts, 1_000 + limits.garbageDelayMs), 2);
  t.equal(await keyCount(store), 1);
  t.same(
    (await contents.parsed.readPages(other, 10)).map((parts) => [...parts]),
    [['stays']],
  );
  t.equal(await blobs.size(blob.hash), null);
  t.equal(await collectGarbage(parts, Number.MAX_SAFE_INTEGER - 1), 0);
});

t.test('a failed sweep reports its error and continues the next time', async (t) => {
  const parts = await openStores();
  const { store, blobs } = parts;
  const collections = new Collections(store);
  const deleted = collection();
  await store.write(collections.create(deleted));
  for (let number = 0; number < 40; number += 1) await addDocument(parts, deleted, number);
  await store.write(collections.delete(deleted, 0));
  let left = 5;
  const failing: Store = {
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    range: (options) => store.range(options),
    write(operations, options) {
      left -= 1;
      return left >= 0 ? store.write(operations, options) : Promise.reject(new Error('I/O error'));
    },
    revisionOf: (table) => store.revisionOf(table),
    statistics: () => store.statistics(),
    snapshot: () => store.snapshot(),
    close: () => store.close(),
  };
  await t.rejects(sweepCollections({ store: failing, blobs }, limits.garbageDelayMs), {
    message: 'I/O error',
  });
  t.same(await sweepCollections(parts, limits.garbageDelayMs), [deleted.collectionId]);
  t.equal(await keyCount(store), 0);
});
