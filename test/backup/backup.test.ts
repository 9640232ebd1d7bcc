import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DirectoryTarget } from '../../src/backup/directory-target.ts';
import { listBackupIds, readManifests } from '../../src/backup/manifest.ts';
import { ObjectKey } from '../../src/backup/object-cipher.ts';
import { parseKeepRules, pruneBackups, selectKept } from '../../src/backup/prune-backups.ts';
import { beginRestore } from '../../src/backup/restore-files.ts';
import { verifyBackups } from '../../src/backup/verify-backup.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { deleteBlobReference, listReferencedBlobs } from '../../src/storage/blob-references.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { addBlob, BackupFixture, checkRows, dump, sha256, writeRows } from './backup-fixture.ts';

t.setTimeout(testFileMsMax);

/** Fails after some writes. */
class FailingTarget extends DirectoryTarget {
  #writesLeft = 2;

  override async write(...[name, parts]: Parameters<DirectoryTarget['write']>): Promise<void> {
    this.#writesLeft -= 1;
    if (this.#writesLeft < 0) throw new Error('interrupted');
    await super.write(name, parts);
  }
}

/** Prunes all but the last backup when a manifest is read for the first time, like another process. */
class ConcurrentlyPrunedTarget extends DirectoryTarget {
  #prune: (() => Promise<unknown>) | null;

  constructor(path: string, prune: () => Promise<unknown>) {
    super(path, systemRandom);
    this.#prune = prune;
  }

  override async *read(name: string): AsyncGenerator<Uint8Array, void, void> {
    const prune = this.#prune;
    this.#prune = null;
    await prune?.();
    yield* super.read(name);
  }
}

const pruneToLast = (fixture: BackupFixture) =>
  pruneBackups({
    target: fixture.target,
    objects: fixture.objects(),
    cipher: null,
    rules: parseKeepRules('last:1'),
    lock: { check: async () => {} },
  });

const verify = (fixture: BackupFixture, target: DirectoryTarget = fixture.target) =>
  verifyBackups({
    target,
    objects: fixture.objects(),
    cipher: fixture.cipher,
    onObject: () => undefined,
  });

t.test('a restored backup has the same rows and files', async (t) => {
  const fixture = new BackupFixture(t);
  const data = await fixture.open();
  await writeRows(data, 'a', 3_000);
  const contents = [randomBytes(700_000), Buffer.alloc(2_000_000, 'text '), Buffer.alloc(0)];
  for (const content of contents) await addBlob(data, content);
  const manifest = await fixture.create(data);
  const expected = await dump(data);
  const restored = await fixture.restore(manifest);
  await checkRows(t, restored, expected);
  const hashes = [];
  for await (const hash of listReferencedBlobs(restored.store)) hashes.push(hash);
  t.same(new Set(hashes), new Set(contents.map(sha256)));
  for (const hash of hashes) t.equal(sha256(readFileSync(restored.blobs.path(hash))), hash);
  t.same(restored.secrets, data.secrets);
  t.not(restored.lineage, data.lineage, 'the restored directory starts another history');
  t.same(existsSync(join(restored.path, 'restore-incomplete.json')), false);
  await restored.close();
  await data.close();
});

t.test('a second backup adds only the changed ranges and new files', async (t) => {
  const fixture = new BackupFixture(t);
  const data = await fixture.open();
  // Few large rows: most of the CPU time depends on their number.
  await writeRows(data, 'a', 4_000, 4_000);
  await addBlob(data, randomBytes(500_000));
  const first = await fixture.create(data);
  t.ok(first.storeBytes > 15_000_000);
  await writeRows(data, 'a00002000-', 10);
  await addBlob(data, randomBytes(300_000));
  const second = await fixture.create(data);
  t.ok(second.addedBytes < 300_000 + first.addedBytes / 4, `${second.addedBytes} of ${first.addedBytes}`);
  const third = await fixture.create(data);
  t.equal(third.addedObjects, 0, 'an unchanged directory adds nothing');
  const restored = await fixture.restore(second);
  await checkRows(t, restored, await dump(data));
  await restored.close();
  await data.close();
});

t.test('files that are deleted during a backup are part of it, and are deleted afterwards', async (t) => {
  const fixture = new BackupFixture(t);
  const data = await fixture.open();
  const bytes = randomBytes(10_000);
  const hash = await addBlob(data, bytes);
  const { path, lineage, blobs } = data;
  let isDeleted = false;
  const store = {
    statistics: () => data.store.statistics(),
    snapshot: async () => {
      const snapshot = await data.store.snapshot();
      for await (const { key } of data.store.range({ gte: Uint8Array.of(0x60), lt: Uint8Array.of(0x61) }))
        await data.store.write([{ type: 'delete', key }]);
      isDeleted = await blobs.deleteIfUnreferenced(hash);
      return snapshot;
    },
  };
  const manifest = await fixture.create({ path, lineage, blobs, store } as typeof data);
  t.equal(isDeleted, false, 'the deletion is deferred');
  t.equal(await blobs.size(hash), null, 'and done after the backup');
  const restored = await fixture.restore(manifest);
  t.equal(sha256(readFileSync(restored.blobs.path(hash))), hash);
  await restored.close();
  await data.close();
});

t.test('an interrupted backup leaves the earlier one valid, and the next one continues', async (t) => {
  const fixture = new BackupFixture(t);
  const data = await fixture.open();
  await writeRows(data, 'a', 1_000);
  const first = await fixture.create(data);
  const expected = await dump(data);
  await writeRows(data, 'b', 2_000, 4_000);
  const failing = new FailingTarget(fixture.target.location, systemRandom);
  await t.rejects(fixture.create(data, failing), { message: 'interrupted' });
  t.same(await listBackupIds(fixture.target), [first.id]);
  const restored = await fixture.restore(first);
  await checkRows(t, restored, expected);
  await restored.close();
  const before = new Set(fixture.listObjectFiles());
  const second = await fixture.create(data);
  t.ok(before.size >= 4);
  t.ok(
    second.addedObjects <= fixture.listObjectFiles().length - before.size,
    'stored objects are not stored again',
  );
  await data.close();
});

const damages: readonly (readonly [string, (path: string) => void])[] = [
  ['truncated', (path) => truncateSync(path, 40)],
  ['extended', (path) => appendFileSync(path, 'x')],
  ['emptied', (path) => truncateSync(path, 0)],
  ['deleted', (path) => rmSync(path)],
  [
    'changed',
    (path) => {
      const bytes = readFileSync(path);
      const middle = bytes.byteLength >> 1;
      bytes[middle] = bytes[middle]! ^ 1;
      writeFileSync(path, bytes);
    },
  ],
];

t.test('damage of every object is reported', async (t) => {
  const fixture = new BackupFixture(t);
  const data = await fixture.open();
  // Few rows, because each object is damaged in each way: the backup has objects of every kind.
  await writeRows(data, 'a', 500);
  await addBlob(data, randomBytes(100_000));
  const manifest = await fixture.create(data);
  await data.close();
  t.match(await verify(fixture), { backups: 1, problems: [] });
  const folder = join(fixture.target.location, 'backups');
  const file = join(folder, readdirSync(folder)[0] ?? '');
  for (const [damage, apply] of damages) {
    await t.test(`verify and restore report every object that was ${damage}`, async (t) => {
      for (const path of fixture.listObjectFiles()) {
        const content = readFileSync(path);
        apply(path);
        const { problems } = await verify(fixture);
        t.not(problems.length, 0, path);
        await t.rejects(fixture.restore(manifest), { name: 'AppError' });
        writeFileSync(path, content);
      }
      const content = readFileSync(file);
      apply(file);
      if (damage === 'deleted') t.same(await listBackupIds(fixture.target), []);
      else if (damage !== 'extended') await t.rejects(readManifests(fixture.target), { name: 'AppError' });
      writeFileSync(file, content);
    });
  }
});

t.test('an incomplete restore cannot be opened, and no restore changes an existing folder', async (t) => {
  const fixture = new BackupFixture(t);
  const record = { backup: '', lineage: '', sequence: 0, restoredAt: '' };
  const path = join(fixture.folder, 'new');
  await beginRestore(path, record);
  await t.rejects(fixture.open('new'), { code: 'unavailable', message: /a restore into it did not finish/ });
  await t.rejects(beginRestore(path, record), { code: 'conflict', message: /is not empty/ });
});

t.test('pruning deletes the objects that only removed backups use', async (t) => {
  const fixture = new BackupFixture(t);
  const data = await fixture.open();
  await writeRows(data, 'a', 2_000);
  const hash = await addBlob(data, randomBytes(100_000));
  await fixture.create(data);
  for await (const { key } of data.store.range({ gte: Uint8Array.of(0x60), lt: Uint8Array.of(0x61) }))
    await data.store.write([deleteBlobReference(hash, uuidOf(key))]);
  const last = await fixture.create(data);
  const prune = () => pruneToLast(fixture);
  const result = await prune();
  t.same(result.kept, [last.id]);
  t.equal(result.removed.length, 1);
  t.ok(result.removedBytes > 100_000);
  t.match(await verify(fixture), { backups: 1, problems: [] });
  t.match(await prune(), { removed: [], removedObjects: 0 });
  const restored = await fixture.restore(last);
  await checkRows(t, restored, await dump(data));
  await restored.close();
  await data.close();
});

function uuidOf(key: Uint8Array): string {
  const hex = Buffer.from(key).subarray(33).toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

t.test('rules keep the newest backup of each period', (t) => {
  const at = (time: string) => ({ id: time, takenAt: Date.parse(time) });
  const backups = [
    '2026-01-31T10:00:00Z',
    '2026-02-27T10:00:00Z',
    '2026-02-28T10:00:00Z',
    '2026-03-01T09:00:00Z',
    '2026-03-01T10:00:00Z',
    '2026-03-01T10:30:00Z',
  ].map(at);
  const kept = (rules: string) => [...selectKept(backups, parseKeepRules(rules))].sort();
  t.same(kept('last:2'), ['2026-03-01T10:00:00Z', '2026-03-01T10:30:00Z']);
  t.same(kept('hourly:2'), ['2026-03-01T09:00:00Z', '2026-03-01T10:30:00Z']);
  t.same(kept('daily:2'), ['2026-02-28T10:00:00Z', '2026-03-01T10:30:00Z']);
  t.same(kept('monthly:3'), ['2026-01-31T10:00:00Z', '2026-02-28T10:00:00Z', '2026-03-01T10:30:00Z']);
  t.same(kept('weekly:1,monthly:2'), ['2026-02-28T10:00:00Z', '2026-03-01T10:30:00Z']);
  t.same(selectKept([], {}), new Set());
  for (const text of ['', 'last', 'last:0', 'yearly:1', 'last:1,']) t.throws(() => parseKeepRules(text));
  t.end();
});

t.test(
  'files that another process prunes meanwhile are neither listed nor reported as damaged',
  async (t) => {
    const fixture = new BackupFixture(t);
    const data = await fixture.open();
    const ids: string[] = [];
    for (const prefix of ['a', 'b', 'c']) {
      await writeRows(data, prefix, 100);
      ids.push((await fixture.create(data)).id);
    }
    const names: string[] = [];
    for await (const { name } of fixture.target.list('backups')) {
      names.push(name);
      await fixture.target.remove(name);
      for (const id of ids) if (!name.includes(id)) await fixture.target.remove(`backups/${id}.json`);
    }
    t.equal(names.length, 1, 'files that were removed after the folder was read');

    for (const use of ['list', 'verify']) {
      const other = new BackupFixture(t);
      for (let i = 0; i < 3; i++) await other.create(data);
      const prune = () => pruneToLast(other);
      const target = new ConcurrentlyPrunedTarget(other.target.location, prune);
      if (use === 'list') t.equal((await readManifests(target)).length, 1);
      else t.match(await verify(other, target), { problems: [] });
      t.equal((await listBackupIds(target)).length, 1);
    }
    await data.close();
  },
);

t.test('an encrypted backup reveals no content, and needs its key', async (t) => {
  const fixture = new BackupFixture(t);
  fixture.cipher = new ObjectKey(randomBytes(32), systemRandom);
  const data = await fixture.open();
  await writeRows(data, 'a', 1_000);
  const text = 'a text that must not appear in the target ';
  const contents = [Buffer.from(text.repeat(5_000)), randomBytes(65_536), randomBytes(65_536 * 2 + 1)];
  for (const content of contents) await addBlob(data, content);
  const manifest = await fixture.create(data);
  t.match(await verify(fixture), { problems: [] });
  const restored = await fixture.restore(manifest);
  await checkRows(t, restored, await dump(data));
  for (const content of contents) {
    const hash = sha256(content);
    t.equal(sha256(readFileSync(restored.blobs.path(hash))), hash);
    t.notOk(
      fixture.listObjectFiles().some((path) => path.includes(hash)),
      'names do not reveal contents',
    );
  }
  await restored.close();
  for (const path of fixture.listObjectFiles())
    t.notOk(readFileSync(path).includes(text.slice(0, 20)) || readFileSync(path).includes('a0000'));
  t.equal((await fixture.create(data)).addedObjects, 0, 'unchanged objects are stored once');
  const [first = '', second = ''] = fixture.listObjectFiles();
  const content = readFileSync(first);
  writeFileSync(first, readFileSync(second));
  t.match((await verify(fixture)).problems, [/cannot be decrypted/], 'exchanged objects are found');
  writeFileSync(first, content);
  for (const cipher of [null, new ObjectKey(randomBytes(32), systemRandom)]) {
    fixture.cipher = cipher;
    t.match((await verify(fixture)).problems[0], /is encrypted with another key\. Set QUARRY_BACKUP_KEY/);
    await t.rejects(fixture.create(data), { code: 'bad_request' });
  }
  await data.close();
});

t.test('a target has one user at a time, and the lock of a dead process is taken over', async (t) => {
  const fixture = new BackupFixture(t);
  const lock = await fixture.lock();
  await t.rejects(fixture.lock(), { code: 'conflict', message: /in use by process \d+ on .* \(test\)/ });
  await lock.check();
  const path = join(fixture.target.location, 'lock.json');
  const record = JSON.parse(readFileSync(path, 'utf8'));
  // Larger than the process IDs of Linux.
  writeFileSync(path, JSON.stringify({ ...record, id: 'other', pid: 99_999_999 }));
  const second = await fixture.lock();
  await t.rejects(lock.check(), { code: 'conflict' });
  t.equal(lock.lost.aborted, true);
  await lock.release();
  await second.check();
  await second.release();
  t.equal(existsSync(path), false);
});
