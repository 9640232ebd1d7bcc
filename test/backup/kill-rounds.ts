import { spawn } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { listBackupIds, readManifests } from '../../src/backup/manifest.ts';
import { verifyBackups } from '../../src/backup/verify-backup.ts';
import { quarryCommand } from '../e2e/backup-commands.ts';
import { createTestRandom } from '../storage/test-random.ts';
import { deleteFolder } from '../support/delete-folder.ts';
import type { Test } from '../support/tap.ts';
import { addBlob, BackupFixture, checkRows, dump, writeRows } from './backup-fixture.ts';

const random = createTestRandom();

/**
 * Runs commands and kills them at random moments up to the duration of the longest one that ended by itself. The
 * first one is not killed.
 */
class KilledCommands {
  #longestMs: number | null = null;
  killed = 0;

  /** Resolves with the exit status; null if the command was killed. */
  async run(words: readonly string[]): Promise<number | null> {
    const startedAt = performance.now();
    // Without QUARRY_BACKUP_KILL_ROUNDS, which is no setting.
    const env = { PATH: process.env.PATH ?? '' };
    const child = spawn('env', quarryCommand(...words), { stdio: 'ignore', env });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const longestMs = this.#longestMs;
    const timer =
      longestMs === null
        ? null
        : setTimeout(() => child.kill('SIGKILL'), random.below(Math.ceil(longestMs * 1.1)));
    const code = await ended;
    if (timer !== null) clearTimeout(timer);
    if (code === null) this.killed += 1;
    else this.#longestMs = Math.max(longestMs ?? 0, performance.now() - startedAt);
    return code;
  }
}

/**
 * Kills `quarry backup create` at random moments while the data directory changes between the rounds. After each
 * kill, all backups of the target verify, and the last one restores to the rows of its time.
 */
export async function checkKilledCreates(t: Test, rounds: number): Promise<void> {
  t.comment(`seed ${random.seed}`);
  const fixture = new BackupFixture(t);
  const path = join(fixture.folder, 'data');
  const states = new Map<number, Map<string, string>>();
  const commands = new KilledCommands();
  for (let round = 0; round < rounds; round += 1) {
    const data = await fixture.open();
    // Few large rows: the CPU time of a restore depends on their number.
    await writeRows(data, `${round % 7} `, 400, 4_000);
    await addBlob(data, Buffer.alloc(200_000, `blob ${round}`));
    const snapshot = await data.store.snapshot();
    await snapshot.close();
    states.set(snapshot.sequence, await dump(data));
    await data.close();
    const words = ['backup', 'create', '--target', fixture.target.location, '--data', path];
    const code = await commands.run(words);
    if (code !== null && code !== 0) t.fail(`round ${round}: exit status ${code}`);
    const { problems } = await verifyBackups({
      target: fixture.target,
      objects: fixture.objects(),
      cipher: null,
      onObject: () => undefined,
    });
    if (problems.length > 0) t.fail(`round ${round}: ${problems.join(' ')}`);
    // Restores take long: those of some rounds show the same as all.
    if (round % 5 === 4 || round === rounds - 1) await checkLastBackup(t, fixture, states);
  }
  t.comment(`${commands.killed} of ${rounds} backups were killed`);
  t.ok(commands.killed > 0, 'some backups were killed');
  const data = await fixture.open();
  await fixture.create(data);
  await data.close();
  await checkLastBackup(t, fixture, states);
}

async function checkLastBackup(
  t: Test,
  fixture: BackupFixture,
  states: ReadonlyMap<number, Map<string, string>>,
): Promise<void> {
  const manifest = (await readManifests(fixture.target)).at(-1);
  if (manifest === undefined) return;
  const restored = await fixture.restore(manifest);
  // A backup of the stopped directory contains all commits of its round, and those of opening it.
  const sequence = Math.max(...[...states.keys()].filter((each) => each <= manifest.sequence));
  await checkRows(t, restored, states.get(sequence)!, `sequence ${manifest.sequence}`);
  await restored.close();
  rmSync(restored.path, { recursive: true });
}

/** Kills `quarry backup restore` at random moments: the folder opens only if the restore had finished. */
export async function checkKilledRestores(t: Test, rounds: number): Promise<void> {
  t.comment(`seed ${random.seed}`);
  const fixture = new BackupFixture(t);
  const data = await fixture.open();
  await writeRows(data, 'a', 1_000, 4_000);
  await addBlob(data, Buffer.alloc(2_000_000, 'blob'));
  await fixture.create(data);
  const expected = await dump(data);
  await data.close();
  t.equal((await listBackupIds(fixture.target)).length, 1);
  const commands = new KilledCommands();
  for (let round = 0; round < rounds; round += 1) {
    const name = `killed-${round}`;
    const path = join(fixture.folder, name);
    const words = ['backup', 'restore', '--target', fixture.target.location, '--data', path];
    const code = await commands.run(words);
    const isFinished = existsSync(join(path, 'restore.json'));
    if (code !== null && code !== 0) t.fail(`round ${round}: exit status ${code}`);
    const isTouched = existsSync(path) && readdirSync(path).length > 0;
    if (isFinished) {
      const restored = await fixture.open(name);
      await checkRows(t, restored, expected, `round ${round} is complete`);
      await restored.close();
    } else if (isTouched) {
      // Killed before the marker was complete: the folder has nothing else.
      const names = readdirSync(path).filter((each) => each !== 'restore-incomplete.json.new');
      if (names.length > 0) await t.rejects(fixture.open(name), { code: 'unavailable' }, `round ${round}`);
    }
    await deleteFolder(path);
  }
  t.comment(`${commands.killed} of ${rounds} restores were killed`);
  t.ok(commands.killed > 0, 'some restores were killed');
}
