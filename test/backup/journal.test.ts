import { randomBytes } from 'node:crypto';
import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { listSegments, recoverableWindows } from '../../src/backup/journal-segments.ts';
import { JournalShipper } from '../../src/backup/journal-shipper.ts';
import { type Manifest, readManifests } from '../../src/backup/manifest.ts';
import { parseKeepRules, pruneBackups } from '../../src/backup/prune-backups.ts';
import { planRestore, type RestorePoint } from '../../src/backup/restore-point.ts';
import { SharedTargetLock } from '../../src/backup/shared-target-lock.ts';
import { verifyBackups } from '../../src/backup/verify-backup.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { listReferencedBlobs } from '../../src/storage/blob-references.ts';
import type { DataDirectory } from '../../src/storage/data-directory.ts';
import { createTestRandom } from '../storage/test-random.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { addBlob, BackupFixture, checkRows, dump, sha256 } from './backup-fixture.ts';

t.setTimeout(testFileMsMax);

/** A clock that advances by a second per commit. */
class StepClock {
  time = Date.parse('2026-01-01T00:00:00Z');
  now(): number {
    this.time += 1_000;
    return this.time;
  }
  monotonic(): number {
    return this.time;
  }
}

function openShipper(fixture: BackupFixture, data: DataDirectory, bytesMax = 1e9): JournalShipper {
  const { target } = fixture;
  return new JournalShipper({
    journal: data.journal!,
    target: {
      target,
      cipher: null,
      openObjects: () => fixture.objects(),
      lock: new SharedTargetLock(() => fixture.lock()),
    },
    blobs: data.blobs,
    lineage: data.lineage,
    intervalMs: 1e6,
    bytesMax,
    logger: silentLogger,
    onSegment: () => undefined,
  });
}

async function sequenceOf({ store }: DataDirectory): Promise<number> {
  const snapshot = await store.snapshot();
  await snapshot.close();
  return snapshot.sequence;
}

const verify = (fixture: BackupFixture) =>
  verifyBackups({
    target: fixture.target,
    objects: fixture.objects(),
    cipher: null,
    onObject: () => undefined,
  });

/** State of the model after a commit. */
interface State {
  readonly sequence: number;
  readonly time: number;
  readonly rows: ReadonlyMap<string, string>;
}

async function checkRestore(t: Test, fixture: BackupFixture, point: RestorePoint, state: State) {
  const plan = planRestore(await readManifests(fixture.target), await listSegments(fixture.target), point);
  const restored = await fixture.restore(plan.manifest, plan);
  await checkRows(t, restored, state.rows, JSON.stringify(point));
  for await (const hash of listReferencedBlobs(restored.store))
    t.equal(sha256(readFileSync(restored.blobs.path(hash))), hash);
  await restored.close();
  rmSync(restored.path, { recursive: true });
}

t.test('every moment can be restored, across backups, restarts and crashes', async (t) => {
  const random = createTestRandom();
  t.comment(`seed ${random.seed}`);
  const fixture = new BackupFixture(t);
  const clock = new StepClock();
  fixture.clock = clock;
  let data = await fixture.open('data', { journalClock: clock });
  let shipper = openShipper(fixture, data);
  const states: State[] = [];
  const blobs: string[] = [];
  await fixture.create(data);
  for (let step = 0; step < 250; step += 1) {
    const key = Buffer.from(`key ${random.below(40)}`);
    const choice = random.below(20);
    if (choice < 12) await data.store.write([{ type: 'put', key, value: randomBytes(random.below(3_000)) }]);
    else if (choice < 15) await data.store.write([{ type: 'delete', key }]);
    else if (choice < 17) blobs.push(await addBlob(data, randomBytes(20_000)));
    else if (choice === 17) await removeBlob(data, blobs.shift());
    else if (choice === 18) await shipper.ship();
    else if (random.below(3) === 0) await fixture.create(data);
    else if (random.below(2) === 0) {
      await shipper.close();
      await data.close();
      data = await fixture.open('data', { journalClock: clock });
      shipper = openShipper(fixture, data);
    } else ({ data, shipper } = await crash(fixture, data, clock));
    states.push({ sequence: await sequenceOf(data), time: clock.time, rows: await dump(data) });
  }
  await shipper.close();
  t.equal(data.journal!.bytes, 0);
  t.match(await verify(fixture), { problems: [] });
  const windows = recoverableWindows(await readManifests(fixture.target), await listSegments(fixture.target));
  t.equal(windows.length, 1, 'there is no gap');
  for (let check = 0; check < 12; check += 1) {
    const state = states[random.below(states.length)]!;
    // The last state with this sequence: steps without a commit do not change it.
    const point: RestorePoint =
      check % 2 === 0 ? { kind: 'sequence', sequence: state.sequence } : { kind: 'time', time: state.time };
    await checkRestore(t, fixture, point, state);
  }
  await checkRestore(t, fixture, { kind: 'newest' }, states.at(-1)!);
  await data.close();
});

async function removeBlob(data: DataDirectory, hash: string | undefined): Promise<void> {
  if (hash === undefined) return;
  const range = { gte: Uint8Array.of(0x60), lt: Uint8Array.of(0x61) };
  for await (const { key } of data.store.range(range))
    if (Buffer.from(key.subarray(1, 33)).toString('hex') === hash)
      await data.store.write([{ type: 'delete', key }]);
  await data.blobs.deleteIfUnreferenced(hash);
}

/** Opens a copy of the files as a process that is killed leaves them, with a last record that was not committed. */
async function crash(fixture: BackupFixture, data: DataDirectory, clock: StepClock) {
  const left = join(fixture.folder, 'left');
  cpSync(data.path, left, { recursive: true });
  await data.close();
  rmSync(data.path, { recursive: true });
  cpSync(left, data.path, { recursive: true });
  rmSync(left, { recursive: true });
  const [segment] = readdirSync(join(data.path, 'journal')).sort().slice(-1);
  if (segment !== undefined) appendFileSync(join(data.path, 'journal', segment), randomBytes(20));
  const opened = await fixture.open('data', { journalClock: clock });
  return { data: opened, shipper: openShipper(fixture, opened) };
}

t.test('a gap ends the recoverable window, and the next backup starts another one', async (t) => {
  const fixture = new BackupFixture(t);
  const clock = new StepClock();
  fixture.clock = clock;
  const data = await fixture.open('data', { journalClock: clock });
  const write = () => data.store.write([{ type: 'put', key: Buffer.from('k'), value: randomBytes(8) }]);
  const shipper = openShipper(fixture, data, 10);
  const first = await fixture.create(data);
  await write();
  await shipper.ship();
  const reached = await sequenceOf(data);
  // The target is unavailable: the commits exceed the limit and are dropped.
  const lock = await fixture.lock();
  await write();
  await shipper.ship();
  t.match(shipper.lastError, /in use/);
  t.equal(data.journal!.bytes, 0);
  await lock.release();
  await write();
  await shipper.ship();
  t.equal(shipper.lastError, null);
  const lost = await sequenceOf(data);
  const plan = async (point: RestorePoint) =>
    planRestore(await readManifests(fixture.target), await listSegments(fixture.target), point);
  t.equal((await plan({ kind: 'sequence', sequence: reached })).manifest.id, first.id);
  await t.rejects(plan({ kind: 'sequence', sequence: lost }), {
    code: 'not_found',
    message: /Recoverable: 2026/,
  });
  await t.rejects(plan({ kind: 'time', time: first.takenAt - 1 }), { code: 'not_found' });
  const second = await fixture.create(data);
  await write();
  await shipper.ship();
  const windows = recoverableWindows(await readManifests(fixture.target), await listSegments(fixture.target));
  t.match(windows, [
    { fromSequence: first.sequence, toSequence: reached },
    { fromSequence: second.sequence, toSequence: second.sequence + 1 },
  ]);
  await shipper.close();
  await data.close();
});

t.test('pruning keeps the segments and files that kept backups need', async (t) => {
  const fixture = new BackupFixture(t);
  const data = await fixture.open('data', { journalClock: new StepClock() });
  const shipper = openShipper(fixture, data);
  const backups: Manifest[] = [];
  for (let round = 0; round < 3; round += 1) {
    backups.push(await fixture.create(data));
    await addBlob(data, randomBytes(10_000));
    await shipper.ship();
  }
  const prune = () =>
    pruneBackups({
      target: fixture.target,
      objects: fixture.objects(),
      cipher: null,
      rules: parseKeepRules('last:2'),
      lock: { check: async () => {} },
    });
  t.match(await prune(), { removed: [backups[0]!.id], removedSegments: 1 });
  t.match(await verify(fixture), { problems: [] });
  const sequence = await sequenceOf(data);
  await checkRestore(t, fixture, { kind: 'newest' }, { sequence, time: 0, rows: await dump(data) });
  await shipper.close();
  await data.close();
});

t.test('a file of a deleted document is kept until its commit is on the target', async (t) => {
  const fixture = new BackupFixture(t);
  const data = await fixture.open('data', { journalClock: new StepClock() });
  await fixture.create(data);
  const shipper = openShipper(fixture, data);
  const hash = await addBlob(data, randomBytes(10_000));
  const added = { sequence: await sequenceOf(data), time: 0, rows: await dump(data) };
  await removeBlob(data, hash);
  t.equal(existsSync(data.blobs.path(hash)), true);
  await shipper.ship();
  t.equal(existsSync(data.blobs.path(hash)), false);
  await checkRestore(t, fixture, { kind: 'sequence', sequence: added.sequence }, added);
  await shipper.close();
  await data.close();
});
