import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemRandom } from '../../../src/core/ids.ts';
import { findOptionalTools } from '../../../src/parsing/tools/optional-tools.ts';
import { noSandbox } from '../../../src/parsing/tools/sandbox.ts';
import { prepareToolFolder, type ToolRun, ToolRunner } from '../../../src/parsing/tools/tool-runner.ts';
import t from '../../support/tap.ts';
import { testEventMsMax, waitUntil } from '../../timeouts.ts';

const none = findOptionalTools([]);
const found = findOptionalTools();

/** Runner whose `tesseract` is a shell, so that a test controls its behavior. */
function shellRunner(folder: string, tools = none): ToolRunner {
  return new ToolRunner({
    tools: { ...tools, tesseract: '/bin/sh' },
    sandbox: noSandbox,
    folder,
    createUniqueName: () => systemRandom.uuid(),
    getFreeBytes: async () => 0,
  });
}

function script(runner: ToolRunner, text: string, bounds: Partial<ToolRun> = {}) {
  return runner.withTemporaryFolder((folder) =>
    runner.run({
      tool: 'tesseract',
      flags: ['-c', text],
      folder,
      msMax: testEventMsMax,
      memoryBytesMax: 500_000_000,
      fileBytesMax: 1_000_000,
      outputBytesMax: 1_000,
      signal: new AbortController().signal,
      ...bounds,
    }),
  );
}

async function isGone(pid: number): Promise<boolean> {
  const isKilled = () => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  };
  await waitUntil(`the end of process ${pid}`, isKilled, 50);
  return true;
}

t.test('a program gets its input and its own folder, and no environment of the server', async (t) => {
  process.env.SECRET_OF_THE_SERVER = 'secret';
  const runner = shellRunner(t.testdir({}));
  const end = await script(runner, 'cat; pwd; echo "$HOME:$SECRET_OF_THE_SERVER"; echo no >&2; exit 3', {
    input: Buffer.from('given '),
  });
  t.match(end, { outcome: 'exited', code: 3, stderr: /no/ });
  const [place = '', home] = (end.outcome === 'exited' ? end.output.toString() : '')
    .replace('given ', '')
    .split('\n');
  t.equal(home, `${place}:`);
  t.notOk(existsSync(place), 'the folder is deleted afterwards');
});

t.test('child processes end with their program, also after a timeout and a cancellation', async (t) => {
  const all = t.testdir({ tools: {}, pids: {} });
  const [folder, pids] = [join(all, 'tools'), join(all, 'pids')];
  const start = (name: string) => `sleep 600 & echo $! > ${join(pids, name)};`;
  const runner = shellRunner(folder);
  t.match(await script(runner, `${start('left')} exit 0`), { outcome: 'exited', code: 0 });
  t.match(await script(runner, `${start('late')} wait`, { msMax: 300 }), { outcome: 'timeout' });
  const signal = AbortSignal.timeout(300);
  t.match(await script(runner, `${start('canceled')} wait`, { signal }), { outcome: 'canceled' });
  t.match(await script(runner, 'echo never', { signal }), { outcome: 'canceled' });
  for (const name of ['left', 'late', 'canceled'])
    t.ok(await isGone(Number(readFileSync(join(pids, name), 'utf8'))), name);
  t.same(readdirSync(folder), []);
});

t.test('a program that floods its output, crashes or is missing fails only its own run', async (t) => {
  const runner = shellRunner(t.testdir({}));
  t.match(await script(runner, 'while :; do echo more and more; done'), { outcome: 'output-limit' });
  t.match(await script(runner, 'kill -9 $$'), { outcome: 'killed' });
  const broken = new ToolRunner({
    tools: { ...none, tesseract: '/no/such/program' },
    sandbox: noSandbox,
    folder: t.testdir({}),
    createUniqueName: () => systemRandom.uuid(),
    getFreeBytes: async () => 0,
  });
  await t.rejects(script(broken, ''), /cannot be started/);
  t.match(await script(runner, 'echo fine'), { outcome: 'exited', code: 0 });
});

t.test(
  'prlimit limits the memory and the file sizes of a program',
  { skip: found.prlimit === null && 'needs prlimit' },
  async (t) => {
    const runner = shellRunner(t.testdir({}), { ...none, prlimit: found.prlimit });
    const hungry = 'x=1234567890; while :; do x=$x$x; done';
    const end = await script(runner, hungry, { memoryBytesMax: 50_000_000 });
    t.ok(end.outcome === 'killed' || (end.outcome === 'exited' && end.code !== 0), end.outcome);
    const file = await script(runner, 'head -c 3000000 /dev/zero > big; wc -c < big');
    t.ok(file.outcome !== 'exited' || Number(file.output) <= 1_000_000);
  },
);

t.test('processes and files of a killed server are removed at the next start', async (t) => {
  const folder = t.testdir({});
  const left = join(folder, 'left-behind');
  mkdirSync(left);
  writeFileSync(join(left, 'half.pdf'), 'half');
  const orphan = spawn('/bin/sleep', ['600'], { cwd: left, stdio: 'ignore' });
  const ended = new Promise((resolve) => orphan.once('exit', resolve));
  await prepareToolFolder(folder);
  t.same(readdirSync(folder), []);
  if (existsSync('/proc/self/cwd')) await ended;
  else orphan.kill();
});
