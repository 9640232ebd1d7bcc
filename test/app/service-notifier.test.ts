import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceNotifier } from '../../src/app/service-notifier.ts';
import { addon } from '../../src/index/addon.ts';
import { runQuarry } from '../cli/quarry.ts';
import t from '../support/tap.ts';
import { testEventMsMax } from '../timeouts.ts';

const extension = 'EXTEND_TIMEOUT_USEC=60000000';

function startNotifier(watchdogMs: number | null, send?: (socket: string, message: string) => void) {
  const messages: string[] = [];
  const warnings: string[] = [];
  const notifier = new ServiceNotifier({
    manager: { socket: '/run/notify', watchdogMs },
    send: send ?? ((_, message) => void messages.push(message)),
    warn: (message) => void warnings.push(message),
  });
  return { notifier, messages, warnings };
}

t.test('a start and a stop extend their time limit, a ready server does not', async (t) => {
  const { notifier, messages } = startNotifier(null);
  t.teardown(() => notifier.close());
  notifier.ready();
  notifier.stopping();
  t.same(messages, [extension, 'READY=1', 'STOPPING=1', extension]);
});

t.test('a watched server sends watchdog notifications until it closes', async (t) => {
  const { notifier, messages } = startNotifier(30);
  notifier.ready();
  const until = performance.now() + testEventMsMax;
  const notifications = () => messages.filter((message) => message === 'WATCHDOG=1').length;
  while (notifications() < 5 && performance.now() < until) await sleep(5);
  t.ok(notifications() >= 5);
  notifier.close();
  const count = messages.length;
  await sleep(50);
  t.equal(messages.length, count);
});

t.test('a lost manager is reported once', async (t) => {
  const { notifier, warnings } = startNotifier(null, (socket) =>
    addon.sendUnixDatagram(`${socket}-missing`, 'READY=1'),
  );
  t.teardown(() => notifier.close());
  notifier.ready();
  t.same(warnings, ['The service manager at /run/notify cannot be notified: No such file or directory.']);
});

t.test('an address that is too long is an error', async (t) => {
  t.throws(() => addon.sendUnixDatagram('/'.padEnd(200, 'x'), 'READY=1'), { message: 'Invalid argument' });
  t.throws(() => addon.sendUnixDatagram('', 'READY=1'), { message: 'Invalid argument' });
});

/** Node.js has no Unix datagram sockets. */
const receiver = `
import socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1].replace('@', chr(0)))
print('bound', flush=True)
while True: print(receiver.recv(4096).decode(), flush=True)
`;

/** Abstract addresses exist on Linux only. */
const kinds = process.platform === 'linux' ? ['path', 'abstract'] : ['path'];

for (const kind of kinds)
  t.test(`the server notifies a service manager (${kind})`, async (t) => {
    // Not below the project: the path of a Unix socket has at most 107 bytes.
    const folder = mkdtempSync(join(tmpdir(), 'quarry-notify-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const address = kind === 'path' ? join(folder, 'notify') : `@quarry-test-${process.pid}`;
    const python = spawn('python3', ['-c', receiver, address], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.teardown(() => python.kill());
    const received: string[] = [];
    const lines = createInterface(python.stdout)[Symbol.asyncIterator]();
    t.equal((await lines.next()).value, 'bound');
    let kill: (signal: NodeJS.Signals) => void = () => undefined;
    const variables = { NOTIFY_SOCKET: address, QUARRY_PORT: '0', QUARRY_DATA: join(folder, 'data') };
    const ended = runQuarry(['serve'], {
      variables,
      onStarted: (signal) => {
        kill = signal;
      },
    });
    for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
      received.push(line.value);
      if (line.value === 'READY=1') kill('SIGTERM');
      if (line.value === 'STOPPING=1') break;
    }
    kill('SIGTERM');
    // A start that takes long extends its time limit repeatedly.
    t.same([...new Set(received)], [extension, 'READY=1', 'STOPPING=1']);
    t.equal((await ended).code, 0);
  });
