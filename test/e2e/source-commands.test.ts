import { spawn } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CliResult, runQuarry } from '../cli/quarry.ts';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { createCollection } from './documents-fixture.ts';
import { getSource, listHashes } from './source-fixture.ts';
import { joinSourceServer } from './source-server.ts';

/** `quarry sources`, and `quarry ingest` with `--mirror` and `--watch`. */

t.setTimeout(testFileMsMax);
const { server, api, key, folder } = await joinSourceServer();
const variables = () => ({ QUARRY_URL: server.url, QUARRY_API_KEY: key });

function quarry(...args: string[]): Promise<CliResult> {
  return runQuarry(args, { variables: variables() });
}

function createFolder(name: string, files: readonly string[]): string {
  const path = join(folder, name);
  mkdirSync(path);
  for (const file of files) writeFileSync(join(path, file), file);
  return path;
}

/** Values by name and labels. Sources of other organizations of the server count too. */
async function readMetrics(): Promise<Map<string, number>> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith('quarry_source'));
  return new Map(lines.map((line) => line.split(' ')).map(([name = '', value]) => [name, Number(value)]));
}

await t.test('sources are added, shown, run, paused, changed and deleted', async (t) => {
  const path = createFolder('files', ['a.txt', 'b.txt']);
  const before = await readMetrics();
  await createCollection(api, 'files');
  const common = ['-c', 'files', '--prefix', 'f/', '--schedule', 'off', '--metadata', '{"team": "sales"}'];
  t.equal((await quarry('sources', 'add', 'files', 'directory', path, ...common)).code, 0);
  t.match(
    (await quarry('sources', 'sync', 'files', '--dry-run')).out,
    /add f\/a\.txt\nadd f\/b\.txt\n2 changes\./,
  );
  t.equal((await quarry('sources', 'sync', 'files')).code, 0);
  await waitUntil('the run', async () => (await getSource(api, 'files')).last_run !== null);
  t.strictSame([...(await listHashes(api, 'files')).keys()], ['f/a.txt', 'f/b.txt']);
  t.match((await quarry('sources', 'list')).out, /files\s+directory\s+files\s+idle\s+succeeded/);
  t.match((await quarry('sources', 'show', 'files')).out, /Last run succeeded at .*: 2 added/);
  t.equal((await quarry('sources', 'update', 'files', '--schedule', '02:30', '--watch')).code, 0);
  t.match(await getSource(api, 'files'), { schedule: '02:30', watch: true });
  t.equal((await quarry('sources', 'update', 'files', '--no-watch')).code, 0);
  t.match(await getSource(api, 'files'), { schedule: '02:30', time_zone: 'UTC', watch: false });
  const cron = ['--schedule', '0 3 * * MON-FRI', '--time-zone', 'Europe/Berlin'];
  t.equal((await quarry('sources', 'update', 'files', ...cron)).code, 0);
  t.match((await quarry('sources', 'show', 'files')).out, /schedule 0 3 \* \* MON-FRI Europe\/Berlin\n/);
  t.match(await getSource(api, 'files'), { next_run_at: /T0[12]:00:00.000Z/ });
  const after = await readMetrics();
  for (const [name, difference] of [
    ['quarry_sources{state="idle"}', 1],
    ['quarry_sources_failing', 0],
    ['quarry_source_lag_seconds', 0],
    ['quarry_source_runs_total{kind="directory",outcome="succeeded"}', 1],
    ['quarry_source_items_total{kind="directory",result="added"}', 2],
  ] as const)
    t.equal((after.get(name) ?? Number.NaN) - (before.get(name) ?? 0), difference, name);
  t.equal((await quarry('sources', 'pause', 'files')).code, 0);
  t.equal((await quarry('sources', 'sync', 'files')).code, 1);
  t.equal((await quarry('sources', 'resume', 'files')).code, 0);
  t.equal((await quarry('sources', 'delete', 'files', '--documents')).code, 0);
  await waitUntil('the deletion', async () => (await listHashes(api, 'files')).size === 0);
  const bad = await quarry('sources', 'add', 'bad', 's3', 'no JSON', '-c', 'files');
  t.equal(bad.code, 2);
  t.match(bad.err, /must be a JSON object/);
});

await t.test('ingest --mirror deletes the documents of deleted files below its prefix only', async (t) => {
  const path = createFolder('mirror', ['a.txt', 'b.txt']);
  await createCollection(api, 'mirror');
  await api.add('mirror', 'of a client', 'granite');
  const command = ['ingest', path, '-c', 'mirror', '--prefix', 'm/', '--mirror'];
  t.match((await quarry(...command)).out, /2 uploaded, 0 unchanged, 0 deleted/);
  renameSync(join(path, 'a.txt'), join(path, 'c.txt'));
  const ended = await quarry(...command, '--json');
  t.match(JSON.parse(ended.out), { added: 1, unchanged: 1, deleted: 1 });
  t.strictSame([...(await listHashes(api, 'mirror')).keys()], ['m/b.txt', 'm/c.txt', 'of a client']);
  t.match((await quarry('ingest', path, '-c', 'mirror', '--prefix', 'm/')).out, /0 uploaded, 2 unchanged \(/);
});

await t.test('ingest --watch follows changes until Ctrl-C', async (t) => {
  const path = createFolder('watch', ['a.txt']);
  const main = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.js');
  const args = [main, 'ingest', path, '-c', 'watch', '--mirror', '--watch', '--no-wait'];
  const child = spawn(process.execPath, args, { env: { ...process.env, ...variables() }, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  t.teardown(() => child.kill('SIGKILL'));
  const hasPaths = async (...expected: string[]) => {
    if (
      await api
        .request('documents/get-document-info-list', { collection_name: 'watch' })
        .then(({ status }) => status !== 200)
    )
      return false;
    return [...(await listHashes(api, 'watch')).keys()].join() === expected.join();
  };
  await waitUntil('the first run', () => hasPaths('a.txt'));
  writeFileSync(join(path, 'b.txt'), 'b');
  await waitUntil('the new file', () => hasPaths('a.txt', 'b.txt'));
  rmSync(join(path, 'a.txt'));
  await waitUntil('the deletion', () => hasPaths('b.txt'));
  rmSync(join(path, 'b.txt'));
  await waitUntil('the deletion of the last file', () => hasPaths());
  child.kill('SIGINT');
  t.equal(await ended, 130);
});
