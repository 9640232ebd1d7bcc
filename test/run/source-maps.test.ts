import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';

const assertModule = fileURLToPath(new URL('../../src/core/assert.js', import.meta.url));

/** Runs code with source maps; returns its standard error output. */
function run(code: string): string {
  const words = [
    '-u',
    'NODE_OPTIONS',
    process.execPath,
    '--enable-source-maps',
    '--input-type=module',
    '-e',
    code,
  ];
  return spawnSync('env', words, { encoding: 'utf8' }).stderr;
}

/** Line in src/core/assert.ts that throws. */
function throwingLine(): number {
  const lines = readFileSync(join(projectRoot, 'src', 'core', 'assert.ts'), 'utf8').split('\n');
  return lines.findIndex((line) => line.includes('throw new')) + 1;
}

t.test('stack traces show lines of TypeScript, in the main thread and in workers', async (t) => {
  const fail = `import(${JSON.stringify(assertModule)}).then(({ assert }) => assert(false, 'broken'));`;
  const position = `src/core/assert.ts:${throwingLine()}:`;
  t.match(run(fail), position);
  const startWorker = `import { Worker } from 'node:worker_threads'; new Worker(${JSON.stringify(fail)}, { eval: true });`;
  t.match(run(startWorker), position);
});

t.test('all test runs use source maps', async (t) => {
  for (const file of ['.taprc', 'test/run/files.ts', 'bin/test-one.js'])
    t.match(readFileSync(join(projectRoot, file), 'utf8'), '--enable-source-maps', file);
});
