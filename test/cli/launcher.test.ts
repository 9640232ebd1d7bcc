import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import {
  addonSteps,
  ended,
  everything,
  freshClone,
  lock,
  nativeTestSteps,
  runnable,
  runSteps,
  start,
} from './fake-clone.ts';

t.test('a fresh clone installs, builds and runs the command; the next start only runs it', async (t) => {
  const folder = freshClone(t);
  const first = await ended(start(folder, ['search', 'a b']));
  t.equal(first.code, 0, first.err);
  t.equal(first.out, 'handed over: search a b\n', 'progress is not mixed with the output of a command');
  t.same(runSteps(folder), runnable);
  t.match(first.err, /quarry: installing packages \(npm ci\): done in \d+ s/);
  const second = await ended(start(folder, ['status']));
  t.equal(second.err, '');
  t.same(runSteps(folder), []);
});

/** Clone that the first of these tests builds; the later ones change it. */
const builtFolder = freshClone(t);

t.test('build builds everything and runs no command', async (t) => {
  const folder = builtFolder;
  const built = await ended(start(folder, ['build']));
  t.equal(built.code, 0, built.err);
  t.equal(built.out, '');
  t.same(runSteps(folder), everything);
});

t.test('an installation downloads no libraries, and npm prints no warning about this project', async (t) => {
  t.equal(readFileSync(join(builtFolder, 'npm-variables'), 'utf8'), 'ONNXRUNTIME_NODE_INSTALL=skip');
  const { findNpm } = (await import(join(projectRoot, 'bin', 'toolchain.js'))) as {
    findNpm(): { cli: string };
  };
  const words = [findNpm().cli, 'pkg', 'get', 'name', '--update-notifier=false'];
  const npm = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, ...words], { cwd: projectRoot });
  const { code, out, err } = await ended(npm);
  t.same([code, out, err], [0, '"quarry"\n', '']);
});

t.test('only stale steps run again', async (t) => {
  const folder = builtFolder;
  const newer = {
    packages: { ...lock.packages, 'node_modules/other': { version: '1.0.0', integrity: 'j' } },
  };
  const optional = {
    packages: { ...newer.packages, 'node_modules/mac': { version: '1.0.0', optional: true } },
  };
  const cases: [string, () => void, string[]][] = [
    [
      'a native source',
      () => writeFileSync(join(folder, 'native', 'a.cc'), 'two'),
      [...addonSteps, ...nativeTestSteps],
    ],
    [
      'a new native file',
      () => writeFileSync(join(folder, 'native', 'b.h'), ''),
      [...addonSteps, ...nativeTestSteps],
    ],
    ['a TypeScript source', () => writeFileSync(join(folder, 'src', 'cli', 'main.ts'), '1;'), ['rolldown']],
    [
      'the lock file',
      () => writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(newer)),
      ['npm ci', 'rolldown', 'vite'],
    ],
    ['a page of the dashboard', () => writeFileSync(join(folder, 'web', 'index.html'), 'new'), ['vite']],
    ['a picture of the dashboard', () => writeFileSync(join(folder, 'web', 'picture.png'), 'new'), []],
    [
      'a module shared by server and dashboard',
      () => writeFileSync(join(folder, 'src', 'search', 'filter.ts'), '1;'),
      ['rolldown', 'vite'],
    ],
    ['a missing dashboard', () => rmSync(join(folder, 'dist', 'web'), { recursive: true }), ['vite']],
    ['a missing addon', () => rmSync(join(folder, 'build', 'Release', 'quarry.node')), []],
    ['a missing dist', () => rmSync(join(folder, 'dist'), { recursive: true }), ['rolldown', 'vite']],
    ['missing packages', () => rmSync(join(folder, 'node_modules'), { recursive: true }), ['npm ci']],
    [
      'a native test',
      () => writeFileSync(join(folder, 'test', 'native', 'a_test.cc'), 'two'),
      nativeTestSteps,
    ],
    ['touching without a change', () => writeFileSync(join(folder, 'native', 'a.cc'), 'two'), []],
  ];
  for (const [what, change, expected] of cases) {
    change();
    t.equal((await ended(start(folder, ['build']))).code, 0);
    t.same(runSteps(folder), expected, what);
  }
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(optional));
  const installed = JSON.stringify({ packages: { ...newer.packages } });
  writeFileSync(join(folder, 'node_modules', '.package-lock.json'), installed);
  await ended(start(folder, ['build']));
  t.notOk(runSteps(folder).includes('npm ci'), 'an optional package of another platform is not required');
});

t.test('compiled files without a source are removed, so that old tests do not run', async (t) => {
  const folder = builtFolder;
  mkdirSync(join(folder, 'dist', 'test'), { recursive: true });
  writeFileSync(join(folder, 'dist', 'test', 'old.test.js'), '');
  writeFileSync(join(folder, 'src', 'cli', 'main.ts'), '2;');
  await ended(start(folder, ['build']));
  t.notOk(existsSync(join(folder, 'dist', 'test', 'old.test.js')));
  t.ok(existsSync(join(folder, 'dist', 'src', 'cli', 'main.js')));
});

t.test('without compiler, make or Python, the error message lists the packages to install', async (t) => {
  const folder = freshClone(t);
  for (const tool of ['g++', 'python3']) rmSync(join(folder, 'tools', tool));
  const failed = await ended(start(folder, ['serve']));
  t.equal(failed.code, 1);
  t.match(
    failed.err,
    /quarry: Quarry compiles .* needs a C\+\+20 compiler and python3\. Install the missing tools \(Debian, Ubuntu: apt-get/,
  );
  t.same(runSteps(folder), ['npm ci --omit=dev']);
  t.equal(failed.out, '');
});

t.test('npm is found through npm_execpath, on the PATH and beside Node.js only', async (t) => {
  const folder = freshClone(t);
  const { findNpm } = (await import(join(projectRoot, 'bin', 'toolchain.js'))) as {
    findNpm(variables: Record<string, string>, node: string): { cli: string; nodeGyp: string } | null;
  };
  const cli = join(folder, 'npm', 'bin', 'npm-cli.js');
  const nodeGyp = join(folder, 'npm', 'node_modules', 'node-gyp', 'bin', 'node-gyp.js');
  const tools = join(folder, 'tools');
  const elsewhere = join(folder, 'elsewhere', 'bin', 'node');
  t.equal(findNpm({ PATH: tools }, elsewhere), null);
  t.equal(findNpm({ npm_execpath: join(folder, 'yarn.js') }, elsewhere), null);
  t.same(findNpm({ npm_execpath: cli }, elsewhere), { cli, nodeGyp });
  mkdirSync(join(folder, 'lib', 'node_modules'), { recursive: true });
  symlinkSync(join(folder, 'npm'), join(folder, 'lib', 'node_modules', 'npm'));
  t.same(findNpm({}, join(folder, 'bin', 'node')), { cli, nodeGyp });
  symlinkSync(cli, join(tools, 'npm'));
  t.same(findNpm({ PATH: tools }, elsewhere), { cli, nodeGyp });
});

t.test(
  'a failed step prints its output and an error message, and runs again at the next start',
  async (t) => {
    const folder = freshClone(t);
    const offline = await ended(start(folder, ['serve'], { NPM_FAILS: '1' }));
    t.equal(offline.code, 1);
    t.match(
      offline.err,
      /npm error code ENOTFOUND\nquarry: installing packages \(npm ci\) failed \(exit code 1\)/,
    );
    const source = join(folder, 'src', 'cli', 'main.ts');
    writeFileSync(source, 'broken');
    const broken = await ended(start(folder, ['serve']));
    t.equal(broken.code, 1);
    t.match(broken.err, /main\.ts: Unexpected token\nquarry: compiling TypeScript failed/);
    runSteps(folder);
    writeFileSync(source, '1;');
    t.equal((await ended(start(folder, ['serve']))).code, 0);
    t.same(runSteps(folder), ['rolldown', 'vite']);
  },
);

t.test('a start keeps the packages of the tests, and needs none of them', async (t) => {
  const folder = freshClone(t);
  const withTests = { packages: { ...lock.packages, 'node_modules/tap': { version: '1.0.0', dev: true } } };
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(withTests));
  mkdirSync(join(folder, 'node_modules'));
  const installed = join(folder, 'node_modules', '.package-lock.json');
  writeFileSync(
    installed,
    JSON.stringify({ packages: { 'node_modules/tap': { version: '1.0.0', dev: true } } }),
  );
  await ended(start(folder, ['status']));
  t.equal(runSteps(folder)[0], 'npm ci');
  writeFileSync(installed, JSON.stringify(lock));
  t.equal((await ended(start(folder, ['status']))).code, 0);
  t.same(runSteps(folder), []);
});

t.test('a published package compiles only if its prebuilt addon is missing', async (t) => {
  const folder = freshClone(t);
  mkdirSync(join(folder, 'dist', 'src', 'cli'), { recursive: true });
  cpSync(join(folder, 'src', 'cli', 'main.ts'), join(folder, 'dist', 'src', 'cli', 'main.js'));
  rmSync(join(folder, 'package-lock.json'));
  t.equal((await ended(start(folder, ['status']))).out, 'handed over: status\n');
  t.same(runSteps(folder), addonSteps);
  rmSync(join(folder, 'build'), { recursive: true });
  const prebuilt = join(folder, 'node_modules', '@quarry', `native-${process.platform}-${process.arch}`);
  mkdirSync(prebuilt, { recursive: true });
  writeFileSync(join(prebuilt, 'package.json'), '{"main": "quarry.node"}');
  writeFileSync(join(prebuilt, 'quarry.node'), '');
  t.equal((await ended(start(folder, ['status']))).out, 'handed over: status\n');
  t.same(runSteps(folder), []);
});

t.test('two launchers at once build once, and both run their command', async (t) => {
  const folder = freshClone(t);
  const both = await Promise.all([1, 2].map(() => ended(start(folder, ['status'], { GYP_MS: '700' }))));
  t.same(
    both.map((one) => [one.code, one.out]),
    [
      [0, 'handed over: status\n'],
      [0, 'handed over: status\n'],
    ],
  );
  t.same(runSteps(folder), runnable);
  t.match(both.map((one) => one.err).join(''), /quarry: process \d+ is building; waiting for it/);
  t.notOk(existsSync(join(folder, 'build', 'launcher.lock')));
});

function waitForCompiler(folder: string): Promise<void> {
  const log = join(folder, 'ran.log');
  return waitUntil('the compiler', () => existsSync(log) && readFileSync(log, 'utf8').includes('gyp'));
}

t.test('an interrupted build is started again', async (t) => {
  const folder = freshClone(t);
  await t.test(
    'SIGTERM during a build ends it and the launcher, with the exit code of the signal',
    async (t) => {
      const child = start(folder, ['status'], { GYP_MS: '20000' });
      const end = ended(child);
      await waitForCompiler(folder);
      child.kill('SIGTERM');
      const stopped = await end;
      t.equal(stopped.code, 143);
      t.match(stopped.err, /was interrupted\./);
      t.notOk(existsSync(join(folder, 'build', 'launcher.lock')));
    },
  );
  await t.test('the lock of a killed launcher is replaced without waiting', async (t) => {
    runSteps(folder);
    const killed = start(folder, ['status'], { GYP_MS: '2000' });
    const gone = ended(killed);
    await waitForCompiler(folder);
    killed.kill('SIGKILL');
    await gone;
    t.ok(existsSync(join(folder, 'build', 'launcher.lock')));
    const next = await ended(start(folder, ['status']));
    t.equal(next.out, 'handed over: status\n', next.err);
    t.notOk(next.err.includes('waiting'));
  });
});
