import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';

/** The end of the npm that started the server. `first-start.test.ts` sends the signals to the server itself. */

t.setTimeout(testFileMsMax);

const compiledRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const projectRoot = dirname(compiledRoot);

/** Runs the `start` script of this project with npm, with the compiled command line instead of the launcher. */
async function npmStart(t: Test): Promise<{ npm: ChildProcess; out: () => string }> {
  const { scripts } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  const program = join(compiledRoot, 'src', 'cli', 'main.js');
  const start = scripts.start.replace('bin/quarry.js', program);
  const folder = t.testdir({ 'package.json': JSON.stringify({ scripts: { start } }) });
  const { findNpm } = (await import(join(projectRoot, 'bin', 'toolchain.js'))) as {
    findNpm(): { cli: string };
  };
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('QUARRY_'));
  const npm = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, findNpm().cli, 'start'], {
    cwd: folder,
    env: {
      ...Object.fromEntries(inherited),
      QUARRY_PORT: '0',
      QUARRY_DATA: join(folder, 'data'),
      QUARRY_DISK_RESERVE_BYTES: '0',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let out = '';
  npm.stdout.setEncoding('utf8').on('data', (part: string) => {
    out += part;
  });
  await waitUntil('the start', () => out.includes('is ready at'));
  return { npm, out: () => out };
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL'] as const) {
  t.test(`${signal} to the npm of "npm start" stops the server`, async (t) => {
    const { npm, out } = await npmStart(t);
    // Standard output closes when the last process that holds it has ended.
    const closed = once(npm, 'close');
    npm.kill(signal);
    await closed;
    t.match(out(), /\nStopping\nStopped\n$/);
  });
}
