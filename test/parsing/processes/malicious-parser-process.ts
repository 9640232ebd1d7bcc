import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { DocumentRequest, ParserMessage } from '../../../src/parsing/process/parser-messages.ts';
import { inputDescriptor } from '../../../src/parsing/process/watchdog.ts';

/** Compromised parser process: reports which accesses succeed. */

/** Sent as the path of the document. */
interface AttackTargets {
  readonly secretFile: string;
  readonly otherBlob: string;
  readonly data: string;
  readonly port: number;
  readonly serverPid: number;
}

function attempt(name: string, action: () => unknown): string {
  try {
    const found = action();
    return `${name}: ${typeof found === 'string' ? found : 'allowed'}`;
  } catch (error) {
    return `${name}: ${error instanceof Error && 'code' in error ? error.code : error}`;
  }
}

function tryConnect(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve('connect: allowed'));
    socket.once('error', (error) => resolve(`connect: ${'code' in error ? error.code : error.message}`));
  });
}

async function runAttacks(request: DocumentRequest): Promise<void> {
  const { secretFile, otherBlob, data, port, serverPid } = JSON.parse(
    (request.type === 'parse' && request.path) || '{}',
  ) as AttackTargets;
  const bytes = Buffer.alloc(request.size);
  const findings = [
    attempt('read what it was sent', () => {
      readSync(inputDescriptor, bytes);
      return bytes.toString();
    }),
    attempt('read secrets.json', () => readFileSync(secretFile)),
    attempt('read another document', () => readFileSync(otherBlob)),
    attempt('list the data', () => readdirSync(data)),
    attempt('read the memory of the server', () => readFileSync(`/proc/${serverPid}/environ`)),
    attempt('read elsewhere', () => readFileSync('/etc/passwd')),
    attempt('write', () => writeFileSync(`${otherBlob}.new`, 'x')),
    attempt('start a program', () => spawn('true')),
    `environment: ${Object.keys(process.env)
      .filter(
        (name) =>
          !name.startsWith('NODE_CHANNEL') &&
          !['MALLOC_ARENA_MAX', 'HOME', 'PWD', 'OLDPWD', 'SHLVL', '_'].includes(name),
      )
      .join()}`,
    await tryConnect(port),
  ];
  const info = {
    kind: 'text' as const,
    contentType: 'text/plain',
    unordered: false,
    headings: false,
    title: null,
    language: null,
    warnings: findings,
    pageImages: 'never' as const,
  };
  process.send?.({ type: 'done', info, residentBytes: 0 } satisfies ParserMessage);
}

process.on('message', (request: DocumentRequest) => void runAttacks(request));
process.send?.({ type: 'ready' } satisfies ParserMessage);
