import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from '../support/tap.ts';

t.setTimeout(1_800_000);
const run = fileURLToPath(new URL('./network-silence-run.js', import.meta.url));
/** A user other than root creates the network namespace inside a user namespace. */
const unshare = process.getuid?.() === 0 ? ['-n'] : ['-rn'];
const inside = (command: string) =>
  ['unshare', [...unshare, 'sh', '-c', `ip link set lo up && ${command}`]] as const;

/** Reason why this machine cannot run the test, or false. */
function reasonToSkip(): string | false {
  try {
    execFileSync(...inside('strace -f -e trace=connect true'), { stdio: 'ignore' });
    return false;
  } catch {
    return 'needs unshare, ip and strace, and the permission to make a network namespace';
  }
}

/** System calls with a destination outside this machine; name servers count as outside, regardless of their address. */
function outgoing(calls: string): string[] {
  return calls.split('\n').filter((call) => {
    const isInternet = /sa_family=AF_INET6?\b/.test(call);
    const isLoopback = /sin_addr=inet_addr\("127\.|inet_pton\(AF_INET6, "(::1|::ffff:127\.[\d.]+)"/.test(
      call,
    );
    const isNameServer = /sin6?_port=htons\(53\)/.test(call);
    return isInternet && (!isLoopback || isNameServer);
  });
}

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-silence-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const skip = reasonToSkip();

t.test('the recorder detects a connection and a name lookup', { skip }, async (t) => {
  const folder = folderOf(t);
  const script = `const net = require('net');
    net.connect(443, '192.0.2.1').on('error', () => {});
    new (require('dns').Resolver)().resolve4('example.com', () => {});`;
  const traced = `strace -f -qq -e trace=connect,sendto,sendmsg,sendmmsg -o ${folder}/calls`;
  execFileSync(...inside(`${traced} ${process.execPath} -e "${script.replaceAll('\n', ' ')}"`), {
    stdio: 'ignore',
  });
  const outgoingCalls = outgoing(readFileSync(join(folder, 'calls'), 'utf8')).join('\n');
  t.match(outgoingCalls, /192\.0\.2\.1/);
  t.match(outgoingCalls, /htons\(53\)/);
});

t.test('a server without a network serves all operations and attempts no connection', { skip }, async (t) => {
  const folder = folderOf(t);
  // Without NODE_OPTIONS: the test runner would inject its loaders into every process of the run.
  const command = inside(`exec env -u NODE_OPTIONS ${process.execPath} ${run} ${folder}`);
  const { stdout } = await promisify(execFile)(...command, { maxBuffer: 10_000_000 });
  const { found, reranked, statuses } = JSON.parse(stdout) as {
    found: string;
    reranked: string;
    statuses: Record<string, number>;
  };
  t.match(found, /granite/);
  t.match(reranked, /marble/);
  t.ok(Object.keys(statuses).length > 8, 'the dashboard files are included');
  for (const [path, status] of Object.entries(statuses)) t.equal(status, 200, path);
  const calls = readFileSync(join(folder, 'calls'), 'utf8');
  t.same(outgoing(calls), [], 'no connection and no name lookup');
});
