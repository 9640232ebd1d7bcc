import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';

/** Workers and child processes cannot open connections, even without a sandbox. */

t.setTimeout(testFileMsMax);

const workerAt = (name: string) => new URL(`../../workers/${name}.js`, import.meta.url);

/** Listener on this machine that records its connections. */
async function listener(t: Test) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, sockets };
}

/** Code that connects in the two ways used by libraries and reports the outcomes. */
const attempt = (port: number, tell: string) => `
  const outcomes = [];
  const socket = (await import('node:net')).connect(${port}, '127.0.0.1');
  outcomes.push(await new Promise((resolve) => {
    socket.on('connect', () => resolve('connected')).on('error', (error) => resolve(error.name));
  }));
  outcomes.push(await fetch('http://127.0.0.1:${port}/').then(() => 'connected', (error) => error.cause.name));
  ${tell}(outcomes.join(' '));
`;

const refused = 'EgressDeniedError EgressDeniedError';

for (const name of ['chunk', 'embed', 'json', 'rerank', 'parse'])
  t.test(`a worker of the pool ${name} cannot connect`, async (t) => {
    const { port, sockets } = await listener(t);
    const tell = 'const { parentPort } = await import("node:worker_threads"); parentPort.postMessage';
    const code = `(async () => { await import(${JSON.stringify(workerAt(name).href)}); ${attempt(port, tell)} })();`;
    const worker = new Worker(code, { eval: true });
    t.teardown(() => worker.terminate());
    const [outcomes] = await once(worker, 'message');
    t.equal(outcomes, refused);
    t.equal(sockets.length, 0);
  });

for (const name of ['parser-process', 'ocr-process'])
  t.test(`a forked ${name} cannot connect`, async (t) => {
    const { port, sockets } = await listener(t);
    // Runs in the child process once its own code has been loaded.
    const later = `setImmediate(async () => { ${attempt(port, 'process.send')} });`;
    const preload = `data:text/javascript,${encodeURIComponent(`process.once('newListener', () => { ${later} });`)}`;
    const child = fork(fileURLToPath(workerAt(name)), ['/nowhere', 'eng'], {
      execArgv: ['--import', preload],
      env: {},
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe', 'pipe'],
    });
    t.teardown(() => child.kill('SIGKILL'));
    let complaints = '';
    child.stderr!.on('data', (text) => {
      complaints += text;
    });
    const outcomes = await new Promise((resolve) => {
      child.on('message', (message) => {
        if (typeof message === 'string') resolve(message);
      });
      child.on('exit', (code) => resolve(`ended with ${code}: ${complaints}`));
    });
    t.equal(outcomes, refused);
    t.equal(sockets.length, 0);
  });
