import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import { waitUntil } from '../timeouts.ts';

/**
 * Runs in an empty network namespace: a server under strace, and typical requests on the loopback interface.
 * `node network-silence-run.js FOLDER` writes the system calls to FOLDER/calls and the replies to the standard output.
 */
const folder = process.argv[2] ?? '';
const cli = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
const trace = ['-f', '-qq', '-e', 'trace=connect,sendto,sendmsg,sendmmsg', '-o', join(folder, 'calls')];
const key = 'a-key-of-a-silent-server';

function startServer(): ChildProcess {
  const settings = { QUARRY_PORT: '0', QUARRY_DATA: join(folder, 'data'), QUARRY_API_KEY: key };
  return spawn('strace', [...trace, process.execPath, cli, 'serve'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, HOME: folder, QUARRY_DISK_RESERVE_BYTES: '0', ...settings },
  });
}

async function addressOf(server: ChildProcess): Promise<string> {
  let printed = '';
  server.stdout?.on('data', (part: Buffer) => {
    printed += part.toString();
  });
  const address = () => /ready at (http:\/\/\S+)/.exec(printed)?.[1];
  await waitUntil('the start of the server', () => address() !== undefined || server.exitCode !== null);
  return address() ?? '';
}

async function runQuarry(url: string, ...words: string[]): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: folder, QUARRY_URL: url, QUARRY_API_KEY: key };
  return (await promisify(execFile)(process.execPath, [cli, ...words], { env })).stdout;
}

/** Statuses of pages and of everything that the dashboard's pages load. */
async function loadPages(url: string): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  const waiting = [
    '/',
    '/app/',
    '/docs',
    '/openapi.json',
    '/api/openapi.json',
    '/healthz',
    '/readyz',
    '/metrics',
  ];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const reply = await fetch(`${url}${path}`);
    statuses[path] = reply.status;
    const text = await reply.text();
    for (const [, found = ''] of text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g))
      if (!(found in statuses) && !waiting.includes(found)) waiting.push(found);
  }
  return statuses;
}

const server = startServer();
const ended = once(server, 'close');
const url = await addressOf(server);
writeFileSync(join(folder, 'harbour.txt'), 'The harbour wall is made of granite.');
writeFileSync(join(folder, 'quay.pdf'), buildPdf(['The quay is made of marble.']));
await runQuarry(url, 'ingest', join(folder, 'harbour.txt'), join(folder, 'quay.pdf'));
const found = await runQuarry(url, 'search', 'what is the harbour wall made of?');
const reranked = await runQuarry(url, 'search', '--reranker', 'zerank-2', 'what is the quay made of?');
const statuses = await loadPages(url);
// The first child of strace is the server. strace itself ignores signals and exits with its child.
const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8');
process.kill(Number(children.split(' ')[0]), 'SIGTERM');
await ended;
process.stdout.write(JSON.stringify({ found, reranked, statuses }));
