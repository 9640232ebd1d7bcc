import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { projectRoot } from '../../src/core/root.ts';
import type { Test } from '../support/tap.ts';

/** Seconds of mixed load; compilation and the other tests take minutes more. */
const loadSeconds = 10;

/** Runs the engine's native tests under a sanitizer, with a mixed load of searches, changes and compactions. */
export async function runSanitizer(t: Test, sanitizer: 'address' | 'thread'): Promise<void> {
  const words = [join(projectRoot, 'test/native/sanitize.sh'), sanitizer, String(loadSeconds)];
  const script = spawn('sh', words, { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  for (const stream of [script.stdout, script.stderr]) {
    createInterface(stream).on('line', (line) => lines.push(line));
  }
  const status = await new Promise((resolve) => script.once('close', resolve));
  t.equal(status, 0, `${lines.filter((line) => !line.startsWith('ok - ')).join('\n')}`);
  t.equal(lines.filter((line) => / tests, 0 failed checks$/.test(line)).length, 1, 'the run completed');
}
