/** Runs the native tests of the kernels and the codes on an emulated ARM processor unless this machine has one. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';

/** Exit status of the script if a tool is missing. */
const missing = 77;
const ownArm = process.arch === 'arm64' && 'on an ARM machine, engine.test runs these tests';

t.test('kernels for ARM return the results of their scalar versions', { skip: ownArm }, (t) => {
  const { status, stdout, stderr, error } = spawnSync('sh', [join(projectRoot, 'test/native/arm.sh')], {
    encoding: 'utf8',
  });
  t.equal(error, undefined);
  if (status === missing) {
    t.pass('not run', { skip: stderr.trim() });
  } else {
    for (const line of stdout.split('\n')) {
      if (line.startsWith('ok - ')) t.pass(line.slice('ok - '.length));
      else if (line !== '') t.comment(line);
    }
    t.equal(status, 0, stderr);
    t.match(stdout, /\n\d+ tests, 0 failed checks\n$/);
  }
  t.end();
});
