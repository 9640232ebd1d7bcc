import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { join, sep } from 'node:path';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { assert } from '../base/assert.ts';
import { projectRoot } from '../base/root.ts';
import { processLimits } from './limits.ts';
import { isParserMessage, type ParserMessage, type ParserRequest } from './parser-messages.ts';
import { installFolder, type Sandbox, signalCodes, wrapCommand } from './sandbox.ts';
import { giveUser, holdUser, takeUser } from './sandbox-users.ts';
import { inputDescriptor, lifelineDescriptor } from './watchdog.ts';

export interface ParserChildOptions {
  /** Compiled module that calls `serveParser`. */
  readonly entry: string;
  /** Absolute path of `prlimit`, or null: then only Node's own limits and the watchdog hold. */
  readonly prlimit: string | null;
  /** What keeps the process from the data of the server and from the network, besides the permission model of Node. */
  readonly sandbox: Sandbox;
  /** Folders besides the code that the process may read. It may write nowhere, and start no program. */
  readonly folders: readonly string[];
  /** Arguments of the module. */
  readonly words?: readonly string[];
}

/** How a child ended, and the last of what it wrote to standard error. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

/** The compiled code of the package: what every parser process has to read. */
const codeFolder = fileURLToPath(new URL('../../', import.meta.url));

/** One forked, restricted parser process. */
export class ParserChild {
  readonly pid: number;
  readonly folders: readonly string[];
  /** Settles when the process has ended, however it did. */
  readonly ended: Promise<ChildEnd>;
  /** Requests it has been given. */
  served = 0;
  alive = true;

  private readonly process: ChildProcess;
  private sending: Promise<void> = Promise.resolve();
  private listener: ((message: ParserMessage) => void) | null = null;

  private constructor(process: ChildProcess, folders: readonly string[]) {
    assert(process.pid !== undefined, 'a forked process has an id');
    this.pid = process.pid;
    this.folders = folders;
    this.process = process;
    this.ended = this.watch();
    process.on('message', (message) => this.receive(message));
  }

  /** Forks and waits until the process is ready. Rejects when it cannot start: a fault of the host, not of a document. */
  static async start(
    options: ParserChildOptions,
    onProcess: (event: 'started' | 'ended', pid: number) => void,
  ): Promise<ParserChild> {
    const { users } = options.sandbox;
    const userId = users === null ? null : takeUser(users);
    const release = () => {
      if (users !== null && userId !== null) giveUser(users, userId);
    };
    const forked = forkRestricted(options, userId);
    if (forked.pid === undefined) {
      release();
      const [error] = await once(forked, 'error');
      throw new Error('the parser process cannot be started', { cause: error });
    }
    if (users !== null && userId !== null) holdUser(users, userId, forked.pid);
    const child = new ParserChild(forked, options.folders);
    void child.ended.then(release);
    onProcess('started', child.pid);
    void child.ended.then(() => onProcess('ended', child.pid));
    let late: NodeJS.Timeout | undefined;
    const ready = new Promise<'ready'>((resolve) => child.listen(() => resolve('ready')));
    const timedOut = new Promise<'late'>((resolve) => {
      late = setTimeout(() => resolve('late'), processLimits.startMsMax);
    });
    const first = await Promise.race([ready, timedOut, child.ended]);
    clearTimeout(late);
    if (first === 'ready') return child;
    const end = await child.kill();
    throw new Error(`the parser process did not become ready: ${describeEnd(end)}\n${end.stderr.trim()}`);
  }

  /** Who hears the messages of the process from now on; one listener at a time. */
  listen(listener: (message: ParserMessage) => void): void {
    this.listener = listener;
  }

  /** Sends a request. A process that is gone shows it through `ended`. */
  request(request: ParserRequest): void {
    if (request.type !== 'tool-reply') this.served += 1;
    if (this.process.connected) this.process.send(request, () => {});
  }

  /**
   * Sends bytes of a file after the request that tells their number. Resolves when they are in the pipe or the process is
   * gone; rejects when the file cannot be read or has fewer.
   */
  send(file: string, size: number): Promise<void> {
    const sent = this.sending.then(() => this.write(file, size));
    this.sending = sent.catch(() => {}); // the caller holds `sent`; the next file only waits
    return sent;
  }

  private async write(file: string, size: number): Promise<void> {
    const input = this.process.stdio.at(inputDescriptor) as Writable;
    let sent = 0;
    for await (const piece of readPieces(file, size)) {
      if (!this.alive || input.destroyed) return;
      sent += piece.byteLength;
      if (!input.write(piece)) await Promise.race([once(input, 'drain').catch(() => {}), this.ended]);
    }
    if (sent < size) throw new Error(`${file} has ${sent} bytes instead of ${size}`);
  }

  /** Ends the process at once; resolves when it is gone. */
  kill(): Promise<ChildEnd> {
    this.process.kill('SIGKILL');
    return this.ended;
  }

  private receive(message: unknown): void {
    if (isParserMessage(message)) {
      this.listener?.(message);
      return;
    }
    this.listener = null; // what speaks no sense is not heard again
    this.process.kill('SIGKILL');
  }

  private watch(): Promise<ChildEnd> {
    let stderr = '';
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-processLimits.stderrUnitsMax);
    });
    // An error after the start is a message that found no reader; how the process ended is told by `close`.
    this.process.on('error', () => {});
    for (const pipe of this.process.stdio.slice(lifelineDescriptor)) pipe?.on('error', () => {});
    return new Promise((resolve) => {
      this.process.once('close', (code, signal) => {
        this.alive = false;
        resolve({ code, signal: signal ?? signalOf(code), stderr });
      });
    });
  }
}

const pieceBytes = 262_144;

function readPieces(file: string, size: number): AsyncIterable<Buffer> | readonly Buffer[] {
  return size === 0 ? [] : createReadStream(file, { end: size - 1, highWaterMark: pieceBytes });
}

function forkRestricted(
  { entry, prlimit, sandbox, folders, words = [] }: ParserChildOptions,
  userId: number | null,
): ChildProcess {
  const readable = [codeFolder, ...dependencyPaths(), ...folders];
  const program = [
    ...(prlimit === null ? [] : [prlimit, `--data=${processLimits.dataBytesMax}`, '--core=0']),
    process.execPath,
    `--max-old-space-size=${processLimits.heapMebibytesMax}`,
    '--no-warnings',
    ...permissionFlags(readable),
  ];
  const [execPath, ...execArgv] = wrapCommand(sandbox, {
    program,
    folder: null,
    readable: [...new Set([...installFolder(process.execPath), process.execPath, ...readable])],
    userId,
  });
  return fork(entry, [...words], {
    execPath: execPath!,
    execArgv,
    env: {
      MALLOC_ARENA_MAX: '2', // the threads that open images would each keep memory of their own
      HOME: '/', // the library for images looks for fonts there, and fails without a home
    },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe', 'pipe'],
  });
}

/** A launcher tells by its code which signal ended its program. */
function signalOf(code: number | null): NodeJS.Signals | null {
  const names = Object.entries(constants.signals) as [NodeJS.Signals, number][];
  return names.find(([, number]) => code === signalCodes + number)?.[0] ?? null;
}

function dependencyPaths(): string[] {
  const folder = join(projectRoot, 'node_modules');
  // Where the folder is a link, Node looks at the link itself before it follows it.
  return [folder, realpathSync(folder), join(projectRoot, 'package.json')];
}

/** Node 20 knows the permission model as experimental, takes one path per flag, and aborts on a path given twice. */
function permissionFlags(readable: readonly string[]): string[] {
  const stable = process.allowedNodeEnvironmentFlags.has('--permission');
  const paths = readable.map((path) => (path.endsWith('.json') || path.endsWith(sep) ? path : path + sep));
  return [
    stable ? '--permission' : '--experimental-permission',
    '--allow-addons',
    '--allow-worker',
    ...[...new Set(paths)].map((path) => `--allow-fs-read=${path}`),
  ];
}

/** How a process ended, in one line: the error that Node names, or else the last that the process wrote. */
export function describeEnd({ code, signal, stderr }: ChildEnd): string {
  const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
  const lines = stderr.trim().split('\n');
  const words = lines.findLast((line) => /^[A-Za-z]*Error\b.*:/.test(line)) ?? lines.at(-1) ?? '';
  return words === '' ? how : `${how}: ${words.slice(0, 300)}`;
}

/** Whether the process died for lack of memory: its own watchdog, V8 or the system's allocator says so. */
export function endedForMemory({ stderr }: ChildEnd): boolean {
  return /out of memory|bad_alloc|allocation failed|cannot allocate|unable to grow/i.test(stderr);
}
