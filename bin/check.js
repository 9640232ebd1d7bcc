// `npm run check`: runs the checks beside each other, since most use one core only. Prints the output of each that fails,
// and fails when one fails.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Scripts of package.json. The longest come first. */
const scripts = ['check:types', 'check:spelling', 'check:native', 'check:lint', 'check:unused'];

/** Resolves to whether the check passed. */
async function runCheck(script) {
  const startedAt = performance.now();
  const child = spawn('npm', ['run', '--silent', script], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part) => {
      output += part;
    });
  }
  const reason = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code === 0 ? null : (signal ?? `exit code ${code}`)));
  });
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const passed = reason === null;
  const outcome = passed ? 'passed' : `failed (${reason})`;
  // A check whose tool is missing passes and says so.
  const shown = passed
    ? output.split('\n').filter((line) => line.includes('not checked'))
    : [output.trimEnd()];
  process.stdout.write(`${[`${script}: ${outcome} in ${seconds} s`, ...shown].join('\n')}\n`);
  return passed;
}

const results = await Promise.all(scripts.map(runCheck));
if (results.includes(false)) process.exitCode = 1;
