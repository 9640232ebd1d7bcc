import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';

/**
 * `node dist/test/run/files.js [--jobs=N] [--timeout=SECONDS] [--suffix=.test.js] [FILE...]` runs test files, by default all
 * with the suffix, and prints TAP.
 *
 * `tap run` is not used: it loads a TypeScript compiler, a mocking loader and a coverage recorder into each test file and
 * into each process that a test starts, which doubles the CPU time of a small file. No test uses them.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    // With three, a seventh of two cores waits.
    jobs: { type: 'string', default: '4' },
    // For one file: far beyond the needs of a slow and busy machine, so that only a test that hangs reaches it.
    timeout: { type: 'string', default: '1200' },
    suffix: { type: 'string', default: '.test.js' },
  },
});

function findFiles(suffix: string): string[] {
  const folder = join('dist', 'test');
  const names = readdirSync(join(projectRoot, folder), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith(suffix))
    .sort()
    .map((name) => join(folder, name));
}

const files =
  positionals.length > 0 ? positionals.map((file) => relative(projectRoot, file)) : findFiles(values.suffix);
const timeoutSeconds = Number(values.timeout);
t.setTimeout(0);
t.jobs = Number(values.jobs);
for (const file of files) {
  // `env` replaces itself with Node.js; tap adds its coverage recorder to NODE_OPTIONS of the processes that it starts.
  const settings = ['-u', 'NODE_OPTIONS', `TAP_TIMEOUT=${timeoutSeconds}`, 'TAP_TYPE_STRIP_ONLY=1'];
  const command = [process.execPath, '--enable-source-maps', file];
  const options = { cwd: projectRoot, buffered: true, timeout: timeoutSeconds * 1_000, at: null, stack: '' };
  void t.spawn('env', [...settings, ...command], options, file);
}
