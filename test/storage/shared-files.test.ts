import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DirectoryTarget } from '../../src/backup/directory-target.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { deleteBlobReference, putBlobReference } from '../../src/storage/blob-references.ts';
import { Blobs } from '../../src/storage/blobs.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { claimFiles } from '../../src/storage/shared-data.ts';
import { type FileTarget, SharedFiles } from '../../src/storage/shared-files.ts';
import t from '../support/tap.ts';

const folder = mkdtempSync(join(tmpdir(), 'quarry-shared-files-'));
t.after(() => rmSync(folder, { recursive: true, force: true }));

const documentId = randomUUID();
const sha = (bytes: string) => createHash('sha256').update(bytes).digest('hex');

interface Node {
  readonly blobs: Blobs;
  readonly store: MemoryStore;
  readonly directory: string;
  readonly owner: { epoch: number; isReplaced: boolean };
}

/** A node with a cache of its own, by default on an own place for files. */
async function openNode({
  location = join(folder, randomUUID()),
  store = new MemoryStore(),
  epoch = 1,
  cacheBytes = 1_000,
  target = new DirectoryTarget(location, systemRandom) as FileTarget,
} = {}): Promise<Node & { readonly location: string }> {
  const directory = join(folder, randomUUID());
  const owner = { epoch, isReplaced: false };
  const files = new SharedFiles({
    target,
    random: systemRandom,
    logger: silentLogger,
    epoch: () => owner.epoch,
    confirmOwnership: async () => {
      if (owner.isReplaced) throw new Error('another owner');
    },
  });
  const shared = { files, cacheBytes };
  const blobs = await Blobs.open({ directory, store, random: systemRandom, shared });
  return { blobs, store, directory, location, owner };
}

const copies = ({ directory }: Pick<Node, 'directory'>) =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => /[0-9a-f]{64}$/.test(name));
const stored = (location: string) =>
  readdirSync(location, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\/[0-9a-f]{64}\./.test(name),
  );

async function read({ blobs }: Pick<Node, 'blobs'>, hash: string): Promise<string | null> {
  const file = await blobs.open(hash);
  if (file === null) return null;
  const text = await file.readFile('utf8');
  await file.close();
  return text;
}

t.test('a file is stored before its metadata, and another node reads it', async (t) => {
  const first = await openNode();
  const blob = await first.blobs.put(Buffer.from('granite'));
  t.equal(stored(first.location).length, 1);
  await first.store.write([putBlobReference(blob.hash, documentId)]);
  blob.release();
  const second = await openNode({ location: first.location, store: first.store });
  t.same(copies(second), []);
  t.equal(await second.blobs.size(blob.hash), 7);
  t.equal(await read(second, blob.hash), 'granite');
  t.equal(copies(second).length, 1);
  t.equal(await read(second, sha('unknown')), null);
  t.equal(await second.blobs.size(sha('unknown')), null);
  t.same([await second.blobs.exists(blob.hash), await second.blobs.exists(sha('unknown'))], [true, false]);
});

t.test('a file of a document is stored once; its deletion removes it everywhere', async (t) => {
  const node = await openNode();
  const blob = await node.blobs.put(Buffer.from('same'));
  await node.store.write([putBlobReference(blob.hash, documentId)]);
  blob.release();
  (await node.blobs.put(Buffer.from('same'))).release();
  t.equal(stored(node.location).length, 1);
  t.equal(await node.blobs.deleteIfUnreferenced(blob.hash), false);
  await node.store.write([deleteBlobReference(blob.hash, documentId)]);
  t.equal(await node.blobs.deleteIfUnreferenced(blob.hash), true);
  t.same([stored(node.location), copies(node)], [[], []]);
});

t.test('an owner that was replaced deletes nothing', async (t) => {
  const node = await openNode();
  const blob = await node.blobs.put(Buffer.from('kept'));
  blob.release();
  node.owner.isReplaced = true;
  t.equal(await node.blobs.deleteIfUnreferenced(blob.hash), false);
  t.equal(stored(node.location).length, 1);
  const next = await openNode({ location: node.location, store: node.store, epoch: 2 });
  t.equal(await next.blobs.countOrphans(), 1);
  t.equal(await next.blobs.deleteOrphans(), 1);
  t.same(stored(node.location), []);
});

t.test('a late deletion by an earlier owner does not remove the file of the next one', async (t) => {
  const first = await openNode();
  (await first.blobs.put(Buffer.from('again'))).release();
  const second = await openNode({ location: first.location, epoch: 2 });
  const blob = await second.blobs.put(Buffer.from('again'));
  await second.store.write([putBlobReference(blob.hash, documentId)]);
  blob.release();
  t.equal(stored(first.location).length, 2);
  // It has confirmed its ownership before, and was stopped then.
  t.equal(await first.blobs.deleteIfUnreferenced(blob.hash), true);
  t.match(stored(first.location), [/\.0000000000000002\./]);
  t.equal(await read(await openNode({ location: first.location }), blob.hash), 'again');
});

t.test('copies that are not in use are deleted above the size of the cache', async (t) => {
  const node = await openNode({ cacheBytes: 10 });
  const hashes: string[] = [];
  for (const text of ['first.', 'second', 'third.']) {
    const blob = await node.blobs.put(Buffer.from(text));
    hashes.push(blob.hash);
  }
  t.equal(copies(node).length, 1);
  const used = await node.blobs.use(hashes[0]!);
  t.equal(readFileSync(used.path, 'utf8'), 'first.');
  for (const hash of hashes) await read(node, hash);
  t.ok(existsSync(used.path), 'a copy in use is kept');
  used.release();
  used.release();
  await read(node, hashes[1]!);
  await read(node, hashes[2]!);
  t.notOk(existsSync(used.path));
  t.equal(await read(node, hashes[0]!), 'first.');
});

t.test('concurrent readers of a missing copy fetch it once', async (t) => {
  const first = await openNode();
  const { hash } = await first.blobs.put(Buffer.from('shared'));
  let reads = 0;
  const target = new DirectoryTarget(first.location, systemRandom);
  const counting = Object.assign(Object.create(target) as FileTarget, {
    list: (name: string) => target.list(name),
    read: (name: string) => {
      reads += 1;
      return target.read(name);
    },
  });
  const second = await openNode({ location: first.location, target: counting });
  t.same(await Promise.all([read(second, hash), read(second, hash)]), ['shared', 'shared']);
  t.equal(reads, 1);
});

t.test('damaged bytes are not served, and an unreachable store is a temporary error', async (t) => {
  const first = await openNode();
  const { hash } = await first.blobs.put(Buffer.from('intact'));
  writeFileSync(join(first.location, stored(first.location)[0]!), 'broken');
  const second = await openNode({ location: first.location });
  await t.rejects(read(second, hash), { code: 'bad_gateway', message: /is damaged/ });
  t.same(copies(second), []);
  const target = new DirectoryTarget(join(first.location, stored(first.location)[0]!), systemRandom);
  const broken = await openNode({ target });
  await t.rejects(broken.blobs.put(Buffer.from('x')), {
    code: 'unavailable',
    options: { retryAfterMs: 1_000 },
  });
  t.same(copies(broken), []);
});

t.test('a place with the files of other data, or with none, is refused', async (t) => {
  const target = new DirectoryTarget(join(folder, randomUUID()), systemRandom);
  await t.rejects(claimFiles(target, 'a', { isKnown: true }), { message: /quarry.json is missing/ });
  await claimFiles(target, 'a', { isKnown: false });
  await claimFiles(target, 'a', { isKnown: false });
  await claimFiles(target, 'a', { isKnown: true });
  await t.rejects(claimFiles(target, 'b', { isKnown: false }), { message: /the files of other data/ });
});
