/** Runs the native tests of the engine, which binding.gyp builds beside the addon. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';

t.test('every native test of the engine passes', (t) => {
  const { status, stdout, error } = spawnSync(join(projectRoot, 'build/Release/engine_test'), {
    encoding: 'utf8',
    // The load test runs that long, on all cores; `test:slow` runs it longer, under sanitizers.
    env: { ...process.env, QUARRY_LOAD_SECONDS: '1' },
  });
  t.equal(error, undefined);
  for (const line of stdout.split('\n')) {
    if (line.startsWith('ok - ')) t.pass(line.slice('ok - '.length));
    else if (line !== '') t.comment(line);
  }
  t.equal(status, 0);
  t.match(stdout, /\n\d+ tests, 0 failed checks\n$/);
  t.end();
});
