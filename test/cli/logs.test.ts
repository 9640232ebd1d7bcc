import t from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { adminKey, openFakeServer } from './fake-server.ts';
import { runQuarry, runQuarryProcess } from './quarry.ts';

const operation = 'admin/get-log-lines';

const lineOf = (event: string, level: string, fields: object) => ({
  time: '2026-11-27T17:03:21.123Z',
  level,
  event,
  fields,
});

t.test('logs prints JSON lines into a pipe, and sends the filters', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const line = lineOf('backup failed', 'error', { error: 'ENOSPC' });
  server.fixedReplies.set(operation, { lines: [line], next_cursor: 'a-1', is_truncated: false });
  const admin = { ...variables, QUARRY_ADMIN_KEY: adminKey };
  const shown = await runQuarry(['logs', '--level', 'warn', '--text', 'backup', '-n', '5'], {
    variables: admin,
  });
  t.same(JSON.parse(shown.out), line);
  t.equal(shown.out.split('\n').length, 2);
  t.same(server.bodies(operation), [{ level: 'warn', text: 'backup', limit: 5 }]);
  const wrong = await runQuarry(['logs', '-n', '1001'], { variables: admin });
  t.match(wrong, { code: 2, err: /--lines/ });
});

t.test('logs prints readable lines on a terminal, without control characters', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const lines = [
    lineOf('shard snapshot damaged', 'warn', { shard: 3, path: 'a\u001b[2Jb', none: null }),
    lineOf('ready', 'info', {}),
  ];
  server.fixedReplies.set(operation, { lines, next_cursor: 'a-2', is_truncated: true });
  const admin = { ...variables, QUARRY_ADMIN_KEY: adminKey, NO_COLOR: '1' };
  const { out } = await runQuarryProcess(['logs'], { variables: admin, isOnTerminal: true });
  t.match(out, '2026-11-27 17:03:21Z  WARNING  shard snapshot damaged  shard=3 path=a[2Jb\r\n');
  t.match(out, '2026-11-27 17:03:21Z  info     ready\r\n');
  t.match(out, 'some lines are missing, because they were written faster than they were read');
});

t.test('logs --follow continues at the cursor and ends at Ctrl-C', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const pages = [
    { lines: [lineOf('first', 'info', {})], next_cursor: 'a-1', is_truncated: false },
    { lines: [lineOf('second', 'info', {})], next_cursor: 'a-2', is_truncated: false },
    { lines: [], next_cursor: 'a-3', is_truncated: false },
  ];
  let calls = 0;
  server.intercept = () => {
    const body = pages[Math.min(calls, pages.length - 1)];
    calls += 1;
    return { status: 200, body };
  };
  const admin = { ...variables, QUARRY_ADMIN_KEY: adminKey };
  let stop = (): void => undefined;
  const running = runQuarry(['logs', '--follow'], {
    variables: admin,
    onStarted: (kill) => {
      stop = () => kill('SIGINT');
    },
  });
  await waitUntil('four requests', () => calls >= 4);
  stop();
  const { code, out, err } = await running;
  t.same([code, err], [0, '']);
  t.same(
    out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { event: string }).event),
    ['first', 'second'],
  );
  const cursors = server.bodies(operation).map((body) => (body as { cursor?: string }).cursor);
  t.same(cursors.slice(0, 4), [undefined, 'a-1', 'a-2', 'a-3']);
});
