/** Runs the engine's native tests under sanitizers, with a mixed load of searches, changes and compactions. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { projectRoot } from '../../src/core/root.ts';

/** Seconds of mixed load under each sanitizer; compilation and the other tests take about four more minutes. */
const loadSeconds = 10;

t.test('the engine has no memory error and no data race under mixed load', async (t) => {
  const script = spawn('sh', [join(projectRoot, 'test/native/sanitize.sh'), String(loadSeconds)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  for (const stream of [script.stdout, script.stderr]) {
    createInterface(stream).on('line', (line) => lines.push(line));
  }
  const status = await new Promise((resolve) => script.once('close', resolve));
  t.equal(status, 0, `${lines.filter((line) => !line.startsWith('ok - ')).join('\n')}`);
  t.equal(lines.filter((line) => / tests, 0 failed checks$/.test(line)).length, 2, 'both runs completed');
});
