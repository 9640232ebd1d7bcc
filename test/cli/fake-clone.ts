import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import type { Test } from '../support/tap.ts';

/**
 * The real launcher in a separate project whose npm, node-gyp, rolldown and vite are small scripts that record
 * their execution and create the same outputs as the real ones.
 */

export interface LaunchResult {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export const lock = {
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
appendFileSync('ran.log', 'npm ' + process.argv.slice(2).filter((word) => !word.startsWith('--no-')).join(' ') + '\\n');
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
const [step, target] = process.argv.slice(2);
appendFileSync('ran.log', 'node-gyp ' + step + (step === 'build' ? ' ' + target : '') + '\\n');
await setTimeout(Number(process.env.GYP_MS ?? 0));
const outputs = { quarry: 'quarry.node', engine_test: 'engine_test' };
if (step === 'build') {
  mkdirSync('build/Release', { recursive: true });
  writeFileSync('build/Release/' + outputs[target], 'compiled ' + target);
}
`;

/** Creates a fresh clone without node_modules, build and dist; returns its folder. */
export function freshClone(t: Test): string {
  const folder = t.testdir({
    'package.json': '{"type": "module"}',
    'package-lock.json': JSON.stringify(lock),
    'tsconfig.json': '{}',
    'binding.gyp': '{}',
    native: { 'a.cc': 'one' },
    test: { native: { 'a_test.cc': 'one' } },
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

export function start(
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
        HOME: join(folder, 'home'),
        npm_execpath: join(folder, 'npm', 'bin', 'npm-cli.js'),
        ...variables,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
}

export async function ended(child: ChildProcess): Promise<LaunchResult> {
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
export function runSteps(folder: string): string[] {
  const log = join(folder, 'ran.log');
  const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
  rmSync(log, { force: true });
  return lines;
}

export const addonSteps = ['node-gyp configure', 'node-gyp build quarry'];
export const nativeTestSteps = ['node-gyp configure', 'node-gyp build engine_test'];
/** Steps of `build` in a fresh clone. */
export const everything = ['npm ci', ...addonSteps, ...nativeTestSteps, 'rolldown', 'vite'];
/** Steps of other commands in a fresh clone: without the packages and the program of the tests. */
export const runnable = ['npm ci --omit=dev', ...addonSteps, 'rolldown', 'vite'];
