import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { version } from '../../src/core/version.ts';
import { type DataDirectoryOptions, openDataDirectory } from '../../src/storage/data-directory.ts';
import { DiskSpaceMonitor } from '../../src/storage/disk-space-monitor.ts';
import { currentFormat, type Migration } from '../../src/storage/migrations.ts';
import t from '../support/tap.ts';
import { bytes, putOperation, textAt } from './store-contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'quarry-data-'));
t.after(() => rmSync(folder, { recursive: true, force: true }));

function open(path: string, options: Partial<DataDirectoryOptions> = {}) {
  return openDataDirectory({ path, reserveBytes: 0, logger: silentLogger, random: systemRandom, ...options });
}

t.test('a new data directory is private, and its secret never changes', async (t) => {
  const path = join(folder, 'new', 'data');
  const first = await open(path);
  t.equal(statSync(path).mode & 0o777, 0o700);
  t.equal(statSync(join(path, 'secrets.json')).mode & 0o777, 0o600);
  t.same(JSON.parse(readFileSync(join(path, 'format.json'), 'utf8')), {
    format: currentFormat,
    version,
  });
  t.equal(readFileSync(join(path, 'quarry.pid'), 'utf8'), `${process.pid}\n`);
  t.equal(first.secrets[0]?.byteLength, 32);
  t.ok(existsSync(first.indexPath));
  t.ok(existsSync(first.cachePath));
  await first.store.write([putOperation('a', '1')]);
  const blob = await first.blobs.put(bytes('raw'));
  await Promise.all([first.close(), first.close()]);
  t.notOk(existsSync(join(path, 'quarry.pid')));
  const second = await open(path);
  t.same(second.secrets, first.secrets);
  t.equal(textAt(second.store, 'a'), '1');
  t.equal(await second.blobs.size(blob.hash), 3);
  await second.close();
});

t.test('a folder with foreign files is rejected and not modified', async (t) => {
  const path = join(folder, 'home');
  mkdirSync(path);
  writeFileSync(join(path, 'thesis.doc'), 'x');
  await t.rejects(open(path), { code: 'unavailable', message: /not empty.*thesis\.doc/ });
  t.notOk(existsSync(join(path, 'format.json')));
});

t.test('an empty mounted volume is accepted, a file instead of a folder is not', async (t) => {
  const path = join(folder, 'volume');
  mkdirSync(join(path, 'lost+found'), { recursive: true });
  await (await open(path)).close();
  writeFileSync(join(folder, 'file'), 'x');
  await t.rejects(open(join(folder, 'file')), { message: /Cannot use the data directory/ });
});

t.test('a newer, a damaged and an unknown older format are rejected with a message', async (t) => {
  const cases: [string, string, RegExp][] = [
    ['newer', '{"format":99}', /format 99, written by a newer Quarry version\..*Run the newer version/],
    [
      'named',
      '{"format":99,"version":"4.2.0"}',
      /written by Quarry 4\.2\.0\. This version \(0\.1\.0\) supports format 5\. Run Quarry 4\.2\.0 or later/,
    ],
    ['hostile', '{"format":99,"version":"<b>"}', /written by a newer Quarry version/],
    ['damaged', '{"form', /damaged/],
    ['nonsense', '{"format":"1"}', /damaged/],
  ];
  for (const [name, text, message] of cases) {
    const path = join(folder, name);
    mkdirSync(path);
    writeFileSync(join(path, 'format.json'), text);
    await t.rejects(open(path), { code: 'unavailable', message });
  }
  const path = join(folder, 'older');
  await (await open(path)).close();
  const later = { current: currentFormat + 1, migrations: [] };
  await t.rejects(open(path, { format: later }), {
    message: new RegExp(`format ${currentFormat}.*format ${currentFormat + 1}`),
  });
  await (await open(path)).close();
});

t.test('an older format is migrated step by step and resumes after a failure', async (t) => {
  const path = join(folder, 'migrated');
  await (await open(path, { format: { current: 1, migrations: [] } })).close();
  const done: number[] = [];
  let broken = true;
  const step = (from: number): Migration => ({
    from,
    description: 'test',
    freeShare: 0,
    async migrate({ store }) {
      if (from === 2 && broken) throw new Error('power cut');
      await store.write([putOperation(`step ${from}`, 'done')]);
      done.push(from);
    },
  });
  const format = { current: 4, migrations: [step(3), step(2), step(1)] };
  const older = { current: 3, migrations: [] };
  await t.rejects(open(path, { format }), { message: 'power cut' });
  broken = false;
  const directory = await open(path, { format });
  t.same(done, [1, 2, 3]);
  t.same([textAt(directory.store, 'step 1'), textAt(directory.store, 'step 2')], ['done', 'done']);
  await directory.close();
  await t.rejects(open(path, { format: older }), { message: /format 4, written by Quarry/ });
});

t.test('format 1 is migrated: its sign-in data is deleted, everything else is kept', async (t) => {
  const path = join(folder, 'format-1');
  const old = await open(path, { format: { current: 1, migrations: [] } });
  const row = (table: number, i: number) => ({
    type: 'put' as const,
    key: Buffer.concat([Uint8Array.of(table), Buffer.from(`row ${i}`)]),
    value: Buffer.from('x'),
  });
  for (const table of [0x1c, 0x1d, 0x1f]) {
    await old.store.write(Array.from({ length: 5_000 }, (_, i) => row(table, i)));
  }
  const retainedRows = [row(0x1b, 1), row(0x1e, 1), row(0x20, 1)];
  await old.store.write(retainedRows);
  await old.close();
  const raised = await open(path, { reserveBytes: Number.MAX_SAFE_INTEGER });
  t.equal(
    readFileSync(join(path, 'format.json'), 'utf8'),
    `{"format":${currentFormat},"version":"0.1.0"}\n`,
    'also on a full disk',
  );
  const found: string[] = [];
  for await (const { key } of raised.store.range({ gte: Uint8Array.of(0x1b), lt: Uint8Array.of(0x21) }))
    found.push(Buffer.from(key).toString('hex'));
  t.same(
    found,
    retainedRows.map(({ key }) => key.toString('hex')),
  );
  await raised.close();
});

t.test('a build without restricted keys rejects the directory instead of ignoring them', async (t) => {
  const path = join(folder, 'restricted');
  await (await open(path)).close();
  const older = open(path, { format: { current: 1, migrations: [] } });
  await t.rejects(older, {
    code: 'unavailable',
    message: new RegExp(`format ${currentFormat}, written by Quarry 0\\.1\\.0\\.`),
  });
});

t.test('a damaged secret is rejected, not replaced', async (t) => {
  const path = join(folder, 'secret');
  await (await open(path)).close();
  for (const text of ['', '{}', '{"secret":"short"}']) {
    writeFileSync(join(path, 'secrets.json'), text);
    await t.rejects(open(path), { message: /secrets\.json is damaged/ });
  }
});

t.test('free space below the reserve pauses writes until it recovers', async (t) => {
  let free = 1_000;
  const measure = async () => {
    if (free < 0) throw new Error('no such device');
    return free;
  };
  const watch = await DiskSpaceMonitor.start({
    path: folder,
    reserveBytes: 500,
    logger: silentLogger,
    measure,
  });
  t.teardown(() => watch.close());
  watch.check();
  free = 499;
  await watch.measure();
  t.throws(() => watch.check(), { code: 'reserve_reached', status: 429 });
  free = -1;
  await watch.measure();
  t.throws(() => watch.check(), { code: 'reserve_reached' }, 'an unknown size keeps the state');
  free = 500;
  await watch.measure();
  watch.check();
  t.equal(watch.freeBytes, 500);
});

t.test('a data directory without the reserve rejects additions and still reads and deletes', async (t) => {
  const path = join(folder, 'full');
  const first = await open(path);
  await first.store.write([putOperation('a', '1')]);
  await first.close();
  const directory = await open(path, { reserveBytes: Number.MAX_SAFE_INTEGER });
  await t.rejects(directory.store.write([putOperation('b', '1')]), { code: 'reserve_reached' });
  await t.rejects(directory.blobs.put(bytes('x')), { code: 'reserve_reached' });
  t.equal(textAt(directory.store, 'a'), '1');
  await directory.store.write([{ type: 'delete', key: bytes('a') }], { mayUseReserve: true });
  t.equal(textAt(directory.store, 'a'), undefined);
  await directory.close();
});
