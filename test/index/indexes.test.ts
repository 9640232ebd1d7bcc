import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { systemRandom } from '../../src/core/ids.ts';
import { CollectionIndex, IndexError } from '../../src/index/collection-index.ts';
import { shardOf } from '../../src/index/shard-of.ts';
import {
  diskFullError,
  type IngestComponents,
  ingestText,
  openComponents,
  organizationId,
  searchText,
} from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import { testEventMsMax } from '../timeouts.ts';

const words = ['anchor', 'ballast', 'capstan', 'davit', 'ensign', 'fathom', 'gunwale', 'hawser'];

async function createIndexes(t: Parameters<typeof openComponents>[0]) {
  const first = await openComponents(t);
  for (const word of words) await ingestText(first, `${word}.txt`, `a text about the ${word}`);
  return first;
}

/** Versions in the files on disk, read while the process that wrote them is running. */
async function versionsOnDisk(folder: string, collectionId: string): Promise<number[]> {
  const copy = join(folder, 'copy');
  mkdirSync(copy, { recursive: true });
  const directory = join(folder, 'index', collectionId);
  for (const name of readdirSync(directory))
    writeFileSync(join(copy, name), readFileSync(join(directory, name)));
  const index = await CollectionIndex.open({
    collectionId: '00000000-0000-4000-8000-00000000000f',
    dimensions: 8,
    shards: 8,
    directory: copy,
  });
  const found = await index.list(null, 1_000);
  await index.drop();
  return [...found].sort();
}

t.test('a snapshot contains no change whose write is not durable', async (t) => {
  const { writer, indexes, store, papers, folder, documents } = await createIndexes(t);
  const doomedDocument = documents.get(papers.collectionId, 'anchor.txt')!.version;
  const release = store.holdWrites();
  const removing = writer.remove(papers, ['anchor.txt']);
  await wait(5);
  t.equal(indexes.get(papers.collectionId).count(null), words.length - 1, 'search has already switched');
  let isWritten = false;
  const snapshot = indexes.snapshot().then(() => {
    isWritten = true;
  });
  await wait(50);
  t.notOk(isWritten, 'the snapshot waits for the write');
  store.nextFailure = diskFullError();
  release();
  await t.rejects(removing, { code: 'reserve_reached' });
  await snapshot;
  store.nextFailure = null;
  await indexes.snapshot();
  t.ok(
    (await versionsOnDisk(folder, papers.collectionId)).includes(doomedDocument),
    'the other documents exist',
  );
});

t.test('documents can be added and deleted while a snapshot is written', async (t) => {
  const first = await createIndexes(t);
  const snapshot = first.indexes.snapshot();
  await ingestText(first, 'keel.txt', 'a text about the keel');
  await first.writer.remove(first.papers, ['davit.txt']);
  await snapshot;
  t.same([await searchText(first, 'keel'), await searchText(first, 'davit')], [['keel.txt'], []]);
});

t.test(
  'when the write of a deletion, an overwrite or an addition fails, search returns the previous results',
  async (t) => {
    const first = await createIndexes(t);
    const { writer, store, papers, indexes } = first;
    store.nextFailure = diskFullError();
    await t.rejects(writer.remove(papers, ['anchor.txt', 'davit.txt']), { code: 'reserve_reached' });
    store.nextFailure = null;
    t.same(
      [await searchText(first, 'anchor'), await searchText(first, 'davit')],
      [['anchor.txt'], ['davit.txt']],
    );
    t.equal(indexes.get(papers.collectionId).count(null), words.length);
    await ingestText(first, 'anchor.txt', 'now about the bollard');
    t.same([await searchText(first, 'anchor'), await searchText(first, 'bollard')], [[], ['anchor.txt']]);
  },
);

t.test('a change whose failed write was durable after all is visible after a crash', async (t) => {
  const first = await createIndexes(t);
  await first.indexes.snapshot();
  first.store.nextFailure = diskFullError();
  await t.rejects(first.writer.remove(first.papers, ['anchor.txt']), { code: 'reserve_reached' });
  const removal = [...first.store.failedOperations];
  t.same(await searchText(first, 'anchor'), ['anchor.txt']);
  await t.rejects(
    first.indexes.snapshot(),
    { code: 'reserve_reached' },
    'no snapshot contains the uncertain change',
  );
  await first.close();
  await first.memory.write(removal);
  const second = { ...(await first.again()), papers: first.papers };
  t.equal(second.documents.get(first.papers.collectionId, 'anchor.txt'), undefined);
  t.equal(second.indexes.get(first.papers.collectionId).count(null), words.length - 1);
});

t.test('a failed snapshot does not prevent later ones', async (t) => {
  const { indexes, store } = await createIndexes(t);
  store.nextFailure = diskFullError();
  await t.rejects(indexes.snapshot(), { code: 'reserve_reached' }, 'the change log cannot be trimmed');
  store.nextFailure = null;
  await indexes.snapshot();
  t.pass('the next snapshot is written');
});

t.test('a compaction is written to a snapshot once, even without further changes', async (t) => {
  const first = await openComponents(t);
  const { indexes, papers, folder } = first;
  const long = Array.from({ length: 24_000 }, (_, i) => `Sentence ${i} tells of ${words[i % 8]}.`).join(' ');
  // A document with enough rows to trigger a compaction when removed, and one that stays.
  const shard = shardOf('long.txt', papers.shards);
  const path = Array.from({ length: 100 }, (_, i) => `${i}.txt`).find(
    (name) => shardOf(name, papers.shards) === shard,
  )!;
  await ingestText(first, path, 'a short text about the anchor');
  await ingestText(first, 'long.txt', long);
  CollectionIndex.useMemoryBytesMax(1);
  t.teardown(() => CollectionIndex.useMemoryBytesMax(0));
  await first.writer.remove(papers, ['long.txt']);
  await indexes.snapshot();
  const file = join(folder, 'index', papers.collectionId, `shard-0${shard}.quarry`);
  const withDead = statSync(file);
  const dead = indexes.statistics().deadRows;
  t.ok(dead >= 256, `${dead} rows wait for memory`);
  CollectionIndex.useMemoryBytesMax(0);
  while (indexes.statistics().deadRows > 0) await wait(5);
  await indexes.snapshot('due');
  t.equal(statSync(file).ino, withDead.ino, 'a compaction makes no early snapshot due');
  await indexes.snapshot();
  const compacted = statSync(file);
  t.ok(compacted.size < withDead.size / 2);
  await first.close();
  const second = await first.again();
  t.equal(second.indexes.statistics().deadRows, 0);
  await second.close();
  t.equal(statSync(file).ino, compacted.ino, 'nothing is written without changes');
});

t.test('a shard emptied before a crash gets a snapshot, and its log is trimmed', async (t) => {
  const first = await createIndexes(t);
  const { collectionId } = first.papers;
  await first.writer.remove(
    first.papers,
    words.map((word) => `${word}.txt`),
  );
  first.store.nextFailure = diskFullError();
  await first.close();
  const { indexes, changes } = await first.again();
  const logged = async () => {
    let count = 0;
    for await (const _ of changes.readAfter(collectionId, -1)) count += 1;
    return count;
  };
  t.equal(await logged(), 2 * words.length, 'there is no earlier snapshot');
  await indexes.snapshot();
  t.equal(await logged(), 0);
  t.equal(indexes.get(collectionId).count(null), 0);
});

t.test(
  'search returns the same after a restart: from snapshots, from the change log, and from the store alone',
  async (t) => {
    const damages: readonly (readonly [string, (folder: string) => void])[] = [
      ['nothing is damaged', () => {}],
      [
        'one shard is truncated',
        (folder) => writeFileSync(largestShard(folder), readFileSync(largestShard(folder)).subarray(0, 90)),
      ],
      [
        'one shard has a wrong byte',
        (folder) =>
          writeFileSync(
            largestShard(folder),
            readFileSync(largestShard(folder)).map((byte, i) => (i === 200 ? byte ^ 1 : byte)),
          ),
      ],
      [
        // A symbolic link to itself, which no user, not even root, can resolve.
        'one shard cannot be read',
        (folder) => {
          const file = largestShard(folder);
          rmSync(file);
          symlinkSync(file, file);
        },
      ],
      ['one shard is missing', (folder) => rmSync(largestShard(folder))],
      ['all shards are missing', (folder) => rmSync(folder, { recursive: true })],
    ];
    for (const [what, damage] of damages) {
      const first = await createIndexes(t);
      await first.indexes.snapshot();
      await ingestText(first, 'late.txt', 'a late text about the lantern');
      await first.writer.remove(first.papers, ['fathom.txt']);
      await first.ingest.close();
      await first.indexes.close();
      damage(join(first.folder, 'index', first.papers.collectionId));
      const second = { ...(await first.again()), papers: first.papers };
      const found = await Promise.all([...words, 'lantern'].map((word) => searchText(second, word)));
      const expected = words.map((word) => (word === 'fathom' ? [] : [`${word}.txt`]));
      t.same(found, [...expected, ['late.txt']], what);
      t.equal(
        second.indexes.get(first.papers.collectionId).count(null),
        words.length,
        `${what}: each document once`,
      );
      await second.close();
    }
  },
);

function largestShard(folder: string): string {
  const files = readdirSync(folder).map((name) => join(folder, name));
  return files.reduce((a, b) => (readFileSync(a).length >= readFileSync(b).length ? a : b));
}

t.test(
  'a deleted collection is unavailable at once and leaves no files, even after a crash during deletion',
  async (t) => {
    const first = await createIndexes(t);
    const { indexes, papers, folder } = first;
    const orphan = join(folder, 'index', '00000000-0000-4000-8000-0000000000aa');
    mkdirSync(orphan);
    writeFileSync(join(orphan, 'shard-00.quarry'), 'left by a crash');
    const snapshot = indexes.snapshot();
    await first.deleteCollection(papers);
    t.throws(() => indexes.get(papers.collectionId), { code: 'not_found' });
    await snapshot;
    t.ok((await indexes.removeOrphans()) > 0);
    await indexes.close();
    t.same(readdirSync(join(folder, 'index')), []);
  },
);

t.test('close works at any time, is idempotent, and prevents opening', async (t) => {
  const { indexes, papers, folder } = await createIndexes(t);
  await Promise.all([indexes.snapshot(), indexes.close(), indexes.close()]);
  await t.rejects(indexes.open(papers), { code: 'unavailable' });
  t.ok(existsSync(join(folder, 'index', papers.collectionId)));
});

const cutOff = () => new IndexError('damaged', 'the file of a shard was cut off');

async function waitUntil(what: string, isSo: () => boolean): Promise<void> {
  const end = performance.now() + testEventMsMax;
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`waited too long: ${what}`);
    await wait(5);
  }
}

function isOpen(
  { indexes, papers }: Pick<IngestComponents, 'indexes' | 'papers'>,
  damaged: CollectionIndex,
): boolean {
  try {
    return indexes.get(papers.collectionId) !== damaged;
  } catch {
    return false;
  }
}

t.test('a repair waits for a pending undo without blocking the event loop', async (t) => {
  const first = await createIndexes(t);
  const { indexes, store, papers, writer } = first;
  const damaged = indexes.get(papers.collectionId);
  const release = store.holdWrites();
  const removing = writer.remove(papers, ['anchor.txt']);
  await waitUntil('the switch', () => damaged.count(null) === words.length - 1);
  const allowReads = store.failReads();
  store.nextFailure = diskFullError();
  release();
  await wait(20);
  damaged.reportDamage(cutOff());
  await wait(20);
  t.equal(indexes.get(papers.collectionId), damaged, 'the collection is not reopened earlier');
  allowReads();
  store.nextFailure = null;
  await t.rejects(removing, { code: 'reserve_reached' });
  await waitUntil('the repair', () => isOpen(first, damaged));
  t.same(await searchText(first, 'anchor'), ['anchor.txt']);
});

t.test(
  'while damaged shards cannot be opened, changes fail with 503 and other collections get snapshots',
  async (t) => {
    const first = await createIndexes(t);
    const { indexes, papers, writer, folder } = first;
    await first.addCollection({
      collectionId: systemRandom.uuid(),
      organizationId,
      name: 'letters',
      shards: 8,
      createdAt: 0,
    });
    const letters = first.collections.find(organizationId, 'letters')!;
    await ingestText({ ...first, papers: letters }, 'keel.txt', 'a text about the keel');
    const damaged = indexes.get(papers.collectionId);
    const directory = join(folder, 'index', papers.collectionId);
    rmSync(directory, { recursive: true, force: true });
    writeFileSync(directory, 'no folder');
    damaged.reportDamage(cutOff());
    await waitUntil('the end of the damaged shards', () => {
      try {
        return damaged.count(null) < 0;
      } catch {
        return true;
      }
    });
    await t.rejects(writer.remove(papers, ['anchor.txt']), { code: 'unavailable', message: /repaired/ });
    await indexes.snapshot();
    t.same(await versionsOnDisk(folder, letters.collectionId), [
      first.documents.get(letters.collectionId, 'keel.txt')!.version,
    ]);
    rmSync(directory);
    await waitUntil('the repair', () => isOpen(first, damaged));
    t.same(await searchText(first, 'anchor'), ['anchor.txt']);
    await writer.remove(papers, ['anchor.txt']);
    t.same(await searchText(first, 'anchor'), []);
  },
);

t.test('replacement shards are repaired, replaced shards are not', async (t) => {
  const first = await createIndexes(t);
  const { indexes, papers, collections } = first;
  const { collectionId } = papers;
  const former = indexes.get(collectionId);
  await first.changeModel(papers);
  await waitUntil('the change of the model', () => isOpen(first, former));
  const damaged = indexes.get(collectionId);
  former.reportDamage(cutOff());
  await wait(20);
  t.equal(indexes.get(collectionId), damaged, 'the present shards are intact');
  damaged.reportDamage(cutOff());
  await waitUntil('the repair', () => isOpen(first, damaged));
  const { generation } = collections.findById(collectionId)!.vectors!;
  t.equal(indexes.get(collectionId, generation), indexes.get(collectionId), 'the same vectors');
  t.same(await searchText(first, 'anchor'), ['anchor.txt']);
});
