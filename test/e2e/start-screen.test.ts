import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';

t.setTimeout(testFileMsMax);

const compiledRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

t.test('on a terminal the server prints the screen without JSON, and Ctrl-C stops it', async (t) => {
  const serve = [process.execPath, join(compiledRoot, 'src', 'cli', 'main.js'), 'serve', '--port', '0'];
  // The pty module of Python runs the server on a terminal of its own.
  const python = ['python3', '-c', 'import pty, sys; pty.spawn(sys.argv[1:])'];
  const variables = { QUARRY_DATA: join(t.testdir(), 'data'), QUARRY_DISK_RESERVE_BYTES: '0' };
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('QUARRY_'));
  const terminal = spawn('env', ['-u', 'NODE_OPTIONS', ...python, ...serve], {
    cwd: dirname(compiledRoot),
    env: { ...Object.fromEntries(inherited), ...variables },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let out = '';
  terminal.stdout.setEncoding('utf8').on('data', (part: string) => {
    out += part.replaceAll('\r', '');
  });
  await waitUntil('the start', () => out.includes('Ctrl-C to stop\n'));
  const screen = out.slice(out.indexOf('Quarry ')).trimEnd().split('\n');
  t.equal(screen.length, 8, out);
  t.match(out, /API key {7}ze_[0-9A-Za-z]{36} \(/);
  t.match(out, 'or try: node bin/quarry.js sample\n');
  t.notMatch(out, /^\{/m, 'no line is JSON');
  const closed = once(terminal, 'close');
  terminal.stdin.write('\u0003');
  await closed;
  t.match(out, /Stopping\nStopped\n$/);
});
