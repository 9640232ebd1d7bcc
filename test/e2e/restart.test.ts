import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import net from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { operatorKey } from './server.ts';

/** Restarts under load lose no request, if the listening socket stays open meanwhile. */

t.setTimeout(testFileMsMax);

const compiledRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** Restarts of each test; default: as few as show the behavior. */
const restartCount = (few: number) => Number(process.env.RESTARTS ?? few);

interface ServerProcess {
  readonly child: ChildProcess;
  readonly text: () => string;
}

/** `socket`: a descriptor that the server gets as a service manager passes it. */
function spawnServer(t: Test, data: string, variables: object, socket?: number): ServerProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('QUARRY_'));
  // The shell replaces itself, so that its process ID is that of the server.
  const program = `exec env -u NODE_OPTIONS ${socket === undefined ? '' : 'LISTEN_FDS=1 LISTEN_PID=$$'} "$0" "$@"`;
  const main = join(compiledRoot, 'src', 'cli', 'main.js');
  const child = spawn('sh', ['-c', program, process.execPath, main, 'serve'], {
    env: {
      ...Object.fromEntries(inherited),
      QUARRY_DATA: data,
      QUARRY_PORT: '0',
      QUARRY_API_KEY: operatorKey,
      QUARRY_DISK_RESERVE_BYTES: '0',
      ...variables,
    },
    stdio: ['ignore', 'pipe', 'pipe', ...(socket === undefined ? [] : [socket])],
  });
  let text = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
  t.teardown(() => {
    child.kill('SIGKILL');
    const owner = ownerOf(data);
    if (owner !== null && owner !== child.pid) process.kill(owner, 'SIGKILL');
    if (!t.passing()) t.comment(text);
  });
  return { child, text: () => text };
}

const readyCount = (text: string) => text.split('is ready at').length - 1;

/** Process that has the data directory open; null while none has. */
function ownerOf(data: string): number | null {
  const file = join(data, 'quarry.pid');
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : null;
}

/** Half of them keep their connection, half open one for each request. */
const clients = 8;

/** Clients that send requests until they are stopped. */
class Load {
  readonly #port: number;
  readonly #agents: Agent[] = [];
  readonly #loops: Promise<void>[] = [];
  readonly failures: string[] = [];
  done = 0;
  longestMs = 0;
  #stopped = false;

  constructor(port: number) {
    this.#port = port;
    for (let i = 0; i < clients; i += 1) {
      // A client of the second kind opens a connection for each request.
      const agent = new Agent({ keepAlive: i % 2 === 0, maxSockets: 1 });
      this.#agents.push(agent);
      this.#loops.push(this.#run(agent, i));
    }
  }

  async #run(agent: Agent, client: number): Promise<void> {
    for (let n = 0; !this.#stopped; n += 1) {
      const started = performance.now();
      const outcome = await this.#send(agent, `${client}/${n}`);
      this.longestMs = Math.max(this.longestMs, performance.now() - started);
      this.done += 1;
      if (outcome !== 201) this.failures.push(`${client % 2 === 0 ? 'kept alive' : 'new'}: ${outcome}`);
    }
  }

  /** Adds a document; resolves to the status, or to the reason why there is none. */
  #send(agent: Agent, path: string): Promise<number | string> {
    const body = JSON.stringify({ collection_name: 'c', path, content: { type: 'text', text: 'Granite.' } });
    const headers = { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' };
    return new Promise((resolve) => {
      const options = { port: this.#port, host: '127.0.0.1', method: 'POST', agent, headers };
      const sent = request({ ...options, path: '/v1/documents/add-document' }, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
        response.on('error', (error) => resolve(String(error)));
      });
      sent.on('error', (error) => resolve(String(error)));
      sent.end(body);
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
    for (const agent of this.#agents) agent.destroy();
  }
}

async function createCollection(port: number, collection_name: string): Promise<void> {
  const reply = await fetch(`http://127.0.0.1:${port}/v1/collections/add-collection`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorKey}` },
    body: JSON.stringify({ collection_name }),
  });
  if (reply.status !== 201) throw new Error(await reply.text());
}

/** Runs `restart` under load as often as given, then checks that each acknowledged document exists. */
async function checkRestarts(
  t: Test,
  port: number,
  restarts: number,
  restart: () => Promise<void>,
): Promise<void> {
  await createCollection(port, 'c');
  const load = new Load(port);
  for (let i = 0; i < restarts; i += 1) {
    const before = load.done;
    await waitUntil('requests', () => load.done > before + 50);
    await restart();
  }
  await load.stop();
  t.same(load.failures, []);
  t.comment(`${restarts} restarts, ${load.done} requests, longest ${Math.round(load.longestMs)} ms`);
  const status = await fetch(`http://127.0.0.1:${port}/v1/status/get-status`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorKey}` },
    body: '{}',
  });
  t.equal(((await status.json()) as { num_documents: number }).num_documents, load.done);
}

const portOf = (text: string) => Number(/is ready at \S+:(\d+) /.exec(text)?.[1]);

t.test('SIGUSR2 starts a new process, and no request fails', async (t) => {
  const folder = t.testdir({ 'settings.json': '{}' });
  const data = join(folder, 'data');
  const { child, text } = spawnServer(t, data, { QUARRY_CONFIG: join(folder, 'settings.json') });
  await waitUntil('the start', () => readyCount(text()) === 1);
  const pids = [child.pid];
  // Twice, because a process that was started by a restart must also restart.
  const restarts = restartCount(2);
  await checkRestarts(t, portOf(text()), restarts, async () => {
    const starts = readyCount(text());
    process.kill(pids.at(-1)!, 'SIGUSR2');
    await waitUntil('the new process', () => readyCount(text()) === starts + 1);
    pids.push(ownerOf(data)!);
  });
  t.equal(new Set(pids).size, restarts + 1);
  await t.test('a new process that cannot start leaves the old one running', async (t) => {
    writeFileSync(join(folder, 'settings.json'), '{"unknown": 1}');
    process.kill(pids.at(-1)!, 'SIGUSR2');
    await waitUntil('the report', () => text().includes('Restart failed'));
    t.equal(ownerOf(data), pids.at(-1));
    await createCollection(portOf(text()), 'after');
  });
  process.kill(pids.at(-1)!, 'SIGTERM');
  await waitUntil('the end', () => ownerOf(data) === null);
});

t.test('a restart keeps the socket of a service manager, and no request fails', async (t) => {
  const data = join(t.testdir(), 'data');
  // Bound, but not accepting: the socket as a service manager holds it.
  const holder = net as unknown as {
    _createServerHandle: (host: string, port: number, family: 4) => { fd: number; close: () => void };
  };
  const socket = holder._createServerHandle('127.0.0.1', 0, 4);
  t.teardown(() => socket.close());
  const start = async () => {
    const server = spawnServer(t, data, {}, socket.fd);
    await waitUntil('the start', () => readyCount(server.text()) === 1);
    return server;
  };
  let server = await start();
  await checkRestarts(t, portOf(server.text()), restartCount(1), async () => {
    const ended = new Promise((resolve) => server.child.once('close', resolve));
    server.child.kill('SIGTERM');
    await ended;
    server = await start();
  });
  const ended = new Promise((resolve) => server.child.once('close', resolve));
  server.child.kill('SIGTERM');
  await ended;
});
