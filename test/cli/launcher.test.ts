import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { projectRoot } from '../../src/core/root.ts';

/**
 * Runs the real launcher in a separate project whose npm, node-gyp, rolldown and vite are small scripts that record
 * their execution and create the same outputs as the real ones.
 */

interface LaunchResult {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const lock = {
  packages: { '': { name: 'x' }, 'node_modules/rolldown': { version: '1.0.0', integrity: 'i' } },
};
const rolldownManifest = '{"type":"module","exports":{".":"./index.js","./utils":"./utils.js"}}';
const fakeRolldown = `
import { readFileSync } from 'node:fs';
export async function build({ input, output }) {
  return { output: [{ type: 'chunk', fileName: output.entryFileNames, code: readFileSync(input, 'utf8') }] };
}
`;
const fakeRolldownUtils = `
import { appendFileSync } from 'node:fs';
appendFileSync('ran.log', 'rolldown\\n');
export function transformSync(path, code) {
  const errors = code.includes('broken') ? [{ message: 'Unexpected token' }] : [];
  return { code, map: { version: 3, sources: [path], mappings: '' }, errors };
}
`;
const fakeBundler = `
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
appendFileSync('ran.log', 'vite\\n');
mkdirSync('dist/web', { recursive: true });
writeFileSync('dist/web/index.html', '');
`;
const fakeNpm = `
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
appendFileSync('ran.log', 'npm ' + process.argv.slice(2, 3) + '\\n');
writeFileSync('npm-variables', 'ONNXRUNTIME_NODE_INSTALL=' + process.env.ONNXRUNTIME_NODE_INSTALL);
if (process.env.NPM_FAILS) { console.error('npm error code ENOTFOUND'); process.exit(1); }
mkdirSync('node_modules/rolldown', { recursive: true });
writeFileSync('node_modules/rolldown/package.json', ${JSON.stringify(rolldownManifest)});
writeFileSync('node_modules/rolldown/index.js', ${JSON.stringify(fakeRolldown)});
writeFileSync('node_modules/rolldown/utils.js', ${JSON.stringify(fakeRolldownUtils)});
mkdirSync('node_modules/vite/bin', { recursive: true });
writeFileSync('node_modules/vite/package.json', '{"type":"module"}');
writeFileSync('node_modules/vite/bin/vite.js', ${JSON.stringify(fakeBundler)});
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
delete packages[''];
writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages }));
`;
const fakeNodeGyp = `
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
appendFileSync('ran.log', 'node-gyp ' + process.argv[2] + '\\n');
await setTimeout(Number(process.env.GYP_MS ?? 0));
if (process.argv[2] === 'build') { mkdirSync('build/Release', { recursive: true }); writeFileSync('build/Release/quarry.node', ''); }
`;

/** Creates a fresh clone without node_modules, build and dist; returns its folder. */
function freshClone(t: Test): string {
  const folder = t.testdir({
    'package.json': '{"type": "module"}',
    'package-lock.json': JSON.stringify(lock),
    'tsconfig.json': '{}',
    'binding.gyp': '{}',
    native: { 'a.cc': 'one' },
    src: {
      cli: { 'main.ts': "console.log('handed over: ' + process.argv.slice(2).join(' '));" },
      search: { 'filter.ts': '' },
    },
    web: { 'index.html': '', 'picture.png': '' },
    npm: {
      'package.json': '{"type": "module"}',
      bin: { 'npm-cli.js': fakeNpm },
      node_modules: {
        'node-gyp': { 'package.json': '{"type": "module"}', bin: { 'node-gyp.js': fakeNodeGyp } },
      },
    },
    tools: {},
  });
  cpSync(join(projectRoot, 'bin'), join(folder, 'bin'), { recursive: true });
  for (const tool of ['g++', 'make', 'python3']) {
    writeFileSync(join(folder, 'tools', tool), '#!/bin/sh\nexit 0\n');
    chmodSync(join(folder, 'tools', tool), 0o755);
  }
  return folder;
}

function start(
  folder: string,
  words: readonly string[],
  variables: Record<string, string> = {},
): ChildProcess {
  // Without NODE_OPTIONS: the test runner would inject its loaders into the launcher, whose folder has no packages.
  return spawn(
    '/usr/bin/env',
    ['-u', 'NODE_OPTIONS', process.execPath, join(folder, 'bin', 'quarry.js'), ...words],
    {
      cwd: folder,
      env: {
        PATH: join(folder, 'tools'),
        npm_execpath: join(folder, 'npm', 'bin', 'npm-cli.js'),
        ...variables,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
}

async function ended(child: ChildProcess): Promise<LaunchResult> {
  let out = '';
  let err = '';
  child.stdout?.on('data', (part) => {
    out += part;
  });
  child.stderr?.on('data', (part) => {
    err += part;
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, out, err };
}

/** Steps executed since the last call. */
function runSteps(folder: string): string[] {
  const log = join(folder, 'ran.log');
  const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
  rmSync(log, { force: true });
  return lines;
}

const everything = ['npm ci', 'node-gyp configure', 'node-gyp build', 'rolldown', 'vite'];

t.test('a fresh clone installs, builds and runs the command; the next start only runs it', async (t) => {
  const folder = freshClone(t);
  const first = await ended(start(folder, ['search', 'a b']));
  t.equal(first.code, 0, first.err);
  t.equal(first.out, 'handed over: search a b\n', 'progress is not mixed with the output of a command');
  t.same(runSteps(folder), everything);
  t.match(first.err, /quarry: installing packages \(npm ci\): done in \d+ s/);
  const second = await ended(start(folder, ['status']));
  t.equal(second.err, '');
  t.same(runSteps(folder), []);
});

t.test('an installation downloads no libraries, and npm prints no warning about this project', async (t) => {
  const folder = freshClone(t);
  await ended(start(folder, ['build']));
  t.equal(readFileSync(join(folder, 'npm-variables'), 'utf8'), 'ONNXRUNTIME_NODE_INSTALL=skip');
  const { findNpm } = (await import(join(projectRoot, 'bin', 'toolchain.js'))) as {
    findNpm(): { cli: string };
  };
  const words = [findNpm().cli, 'pkg', 'get', 'name', '--update-notifier=false'];
  const npm = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, ...words], { cwd: projectRoot });
  const { code, out, err } = await ended(npm);
  t.same([code, out, err], [0, '"quarry"\n', '']);
});

t.test('build builds everything and runs no command', async (t) => {
  const folder = freshClone(t);
  const built = await ended(start(folder, ['build']));
  t.equal(built.code, 0, built.err);
  t.equal(built.out, '');
  t.same(runSteps(folder), everything);
});

t.test('only stale steps run again', async (t) => {
  const folder = freshClone(t);
  await ended(start(folder, ['build']));
  runSteps(folder);
  const newer = {
    packages: { ...lock.packages, 'node_modules/other': { version: '1.0.0', integrity: 'j' } },
  };
  const optional = {
    packages: { ...newer.packages, 'node_modules/mac': { version: '1.0.0', optional: true } },
  };
  const cases: [string, () => void, string[]][] = [
    ['a native source', () => writeFileSync(join(folder, 'native', 'a.cc'), 'two'), everything.slice(1, 3)],
    ['a new native file', () => writeFileSync(join(folder, 'native', 'b.h'), ''), everything.slice(1, 3)],
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
    [
      'a missing addon',
      () => rmSync(join(folder, 'build', 'Release', 'quarry.node')),
      everything.slice(1, 3),
    ],
    ['a missing dist', () => rmSync(join(folder, 'dist'), { recursive: true }), ['rolldown', 'vite']],
    ['missing packages', () => rmSync(join(folder, 'node_modules'), { recursive: true }), ['npm ci']],
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
  const folder = freshClone(t);
  await ended(start(folder, ['build']));
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
  t.same(runSteps(folder), ['npm ci']);
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
  t.same(runSteps(folder), everything);
  t.match(both.map((one) => one.err).join(''), /quarry: process \d+ is building; waiting for it/);
  t.notOk(existsSync(join(folder, 'build', 'launcher.lock')));
});

t.test('the lock of a killed launcher is replaced without waiting', async (t) => {
  const folder = freshClone(t);
  const killed = start(folder, ['status'], { GYP_MS: '2000' });
  const gone = ended(killed);
  while (
    !existsSync(join(folder, 'ran.log')) ||
    !readFileSync(join(folder, 'ran.log'), 'utf8').includes('gyp')
  )
    await sleep(20);
  killed.kill('SIGKILL');
  await gone;
  t.ok(existsSync(join(folder, 'build', 'launcher.lock')));
  const next = await ended(start(folder, ['status']));
  t.equal(next.out, 'handed over: status\n', next.err);
  t.notOk(next.err.includes('waiting'));
});

t.test(
  'SIGTERM during a build ends the build and the launcher, with the exit code of the signal',
  async (t) => {
    const folder = freshClone(t);
    const child = start(folder, ['status'], { GYP_MS: '20000' });
    const end = ended(child);
    while (
      !existsSync(join(folder, 'ran.log')) ||
      !readFileSync(join(folder, 'ran.log'), 'utf8').includes('gyp')
    )
      await sleep(20);
    child.kill('SIGTERM');
    const stopped = await end;
    t.equal(stopped.code, 143);
    t.match(stopped.err, /was interrupted\./);
    t.notOk(existsSync(join(folder, 'build', 'launcher.lock')));
  },
);
