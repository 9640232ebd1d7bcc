/** Runs the native tests of the kernels and the codes on an emulated ARM processor if this machine has another one. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { projectRoot } from '../../src/core/root.ts';

/** Exit status of the script if a tool is missing. */
const missing = 77;
const ownArm =
  process.arch === 'arm64' && 'this is such a machine: engine.test runs them on the processor itself';

t.test('kernels for ARM give what their scalar twins give', { skip: ownArm }, (t) => {
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
