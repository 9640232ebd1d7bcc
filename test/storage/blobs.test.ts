import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../../src/core/app-error.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { deleteBlobReference, putBlobReference } from '../../src/storage/blob-references.ts';
import { Blobs } from '../../src/storage/blobs.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import type { FreeSpaceCheck, Store } from '../../src/storage/store.ts';
import t from '../support/tap.ts';

const folder = mkdtempSync(join(tmpdir(), 'quarry-blobs-'));
t.after(() => rmSync(folder, { recursive: true, force: true }));

async function fresh(space?: FreeSpaceCheck): Promise<{ blobs: Blobs; store: Store; directory: string }> {
  const directory = join(folder, randomUUID());
  const store = new MemoryStore();
  const guard = space === undefined ? {} : { space };
  return { directory, store, blobs: await Blobs.open({ directory, store, random: systemRandom, ...guard }) };
}

const sha = (bytes: string) => createHash('sha256').update(bytes).digest('hex');

t.test('bytes that arrive in pieces become one file named by their hash', async (t) => {
  const { blobs, directory } = await fresh();
  const writer = await blobs.createWriter();
  await writer.write(Buffer.from('hello '));
  await writer.write(Buffer.from('world'));
  const blob = await writer.finish();
  await writer.abort();
  t.same([blob.hash, blob.size, writer.size], [sha('hello world'), 11, 11]);
  t.equal(blobs.path(blob.hash), join(directory, blob.hash.slice(0, 2), blob.hash.slice(2, 4), blob.hash));
  t.equal(await readFile(blobs.path(blob.hash), 'utf8'), 'hello world');
  t.equal(await blobs.size(blob.hash), 11);
  const file = await blobs.open(blob.hash);
  const { buffer } = (await file?.read(Buffer.alloc(5), 0, 5, 6)) ?? {};
  t.equal(buffer?.toString(), 'world');
  await file?.close();
  t.same(readdirSync(join(directory, 'incoming')), []);
});

t.test('an unknown blob has no size and cannot be opened; an invalid hash is rejected', async (t) => {
  const { blobs } = await fresh();
  t.equal(await blobs.size(sha('nothing')), null);
  t.equal(await blobs.open(sha('nothing')), null);
  t.throws(() => blobs.path('../../etc/passwd'), { name: 'AssertionError' });
});

t.test('zero bytes are a blob too, equal bytes are one file, aborted bytes are none', async (t) => {
  const { blobs, directory } = await fresh();
  const empty = await blobs.put(new Uint8Array(0));
  t.equal(await blobs.size(empty.hash), 0);
  const both = await Promise.all([blobs.put(Buffer.from('same')), blobs.put(Buffer.from('same'))]);
  t.equal(both[0].hash, both[1].hash);
  const writer = await blobs.createWriter();
  await writer.write(Buffer.from('never'));
  await writer.abort();
  t.equal(await blobs.size(sha('never')), null);
  t.same(readdirSync(join(directory, 'incoming')), []);
});

t.test('a blob is collected only when it is neither referenced nor pinned', async (t) => {
  const { blobs, store } = await fresh();
  const blob = await blobs.put(Buffer.from('bytes'));
  const [first, second] = [randomUUID(), randomUUID()];
  t.equal(await blobs.deleteIfUnreferenced(blob.hash), false, 'held');
  await store.write([putBlobReference(blob.hash, first), putBlobReference(blob.hash, second)]);
  blob.release();
  blob.release();
  t.equal(await blobs.deleteIfUnreferenced(blob.hash), false, 'two references');
  await store.write([deleteBlobReference(blob.hash, first)]);
  t.equal(await blobs.deleteIfUnreferenced(blob.hash), false, 'one reference');
  await store.write([deleteBlobReference(blob.hash, second)]);
  t.same(await Promise.all([blobs.deleteIfUnreferenced(blob.hash), blobs.deleteIfUnreferenced(blob.hash)]), [
    true,
    true,
  ]);
  t.equal(await blobs.size(blob.hash), null);
});

t.test('collecting never deletes a file whose reference is being written', async (t) => {
  const { blobs, store } = await fresh();
  const bytes = Buffer.from('contested');
  for (let round = 0; round < 50; round += 1) {
    const documentId = randomUUID();
    (await blobs.put(bytes)).release();
    const add = async () => {
      const blob = await blobs.put(bytes);
      await store.write([putBlobReference(blob.hash, documentId)]);
      blob.release();
    };
    await Promise.all([blobs.deleteIfUnreferenced(sha('contested')), add(), blobs.deleteOrphans()]);
    if ((await blobs.size(sha('contested'))) === null)
      t.fail(`round ${round}: the file of a reference is missing`);
    await store.write([deleteBlobReference(sha('contested'), documentId)]);
  }
  t.pass('all rounds');
});

t.test('bytes that arrive while their file is being collected are stored again', async (t) => {
  const directory = join(folder, randomUUID());
  const store = new MemoryStore();
  let finishLookup = () => {};
  const lookup = new Promise<void>((resolve) => {
    finishLookup = resolve;
  });
  const slow: Store = {
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    async *range(options) {
      yield* store.range(options);
      await lookup;
    },
    write: (operations, options) => store.write(operations, options),
    revisionOf: () => 0,
    statistics: () => store.statistics(),
    snapshot: () => store.snapshot(),
    close: () => store.close(),
  };
  const blobs = await Blobs.open({ directory, store: slow, random: systemRandom });
  (await blobs.put(Buffer.from('bytes'))).release();
  const collecting = blobs.deleteIfUnreferenced(sha('bytes'));
  const storing = blobs.put(Buffer.from('bytes'));
  setTimeout(finishLookup, 100);
  t.equal(await collecting, true);
  const blob = await storing;
  t.equal(await blobs.size(blob.hash), 5);
  t.equal(await blobs.deleteIfUnreferenced(blob.hash), false, 'held');
});

t.test('a blob that cannot be renamed leaves no file', async (t) => {
  const { blobs, directory } = await fresh();
  const hash = sha('bytes');
  writeFileSync(join(directory, hash.slice(0, 2)), 'a file instead of the folder');
  await t.rejects(blobs.put(Buffer.from('bytes')));
  t.same(readdirSync(join(directory, 'incoming')), []);
  rmSync(join(directory, hash.slice(0, 2)));
  t.equal((await blobs.put(Buffer.from('bytes'))).hash, hash, 'later writes are not blocked');
});

t.test('files left by a crash are deleted, referenced ones are kept', async (t) => {
  const { blobs, store, directory } = await fresh();
  const kept = await blobs.put(Buffer.from('kept'));
  await store.write([putBlobReference(kept.hash, randomUUID())]);
  const orphan = await blobs.put(Buffer.from('orphan'));
  writeFileSync(join(directory, 'incoming', 'half'), 'hal');
  const again = await Blobs.open({ directory, store, random: systemRandom });
  t.notOk(existsSync(join(directory, 'incoming', 'half')));
  t.equal(await again.deleteOrphans(), 1);
  t.equal(await again.size(orphan.hash), null);
  t.equal(await again.size(kept.hash), 4);
});

t.test('below the free-space reserve no bytes are accepted', async (t) => {
  const check = () => {
    throw new AppError('reserve_reached', 'The disk is nearly full.');
  };
  const { blobs } = await fresh({ check });
  await t.rejects(blobs.put(Buffer.from('x')), { code: 'reserve_reached' });
});

t.test('an upload that reaches the free-space reserve fails and leaves no file', async (t) => {
  let low = false;
  const check = () => {
    if (low) throw new AppError('reserve_reached', 'The disk is nearly full.');
  };
  const { blobs, directory } = await fresh({ check });
  const writer = await blobs.createWriter();
  await writer.write(Buffer.from('first'));
  low = true;
  await t.rejects(writer.write(Buffer.from('second')), { code: 'reserve_reached' });
  await writer.abort();
  t.same(readdirSync(join(directory, 'incoming')), []);
});
