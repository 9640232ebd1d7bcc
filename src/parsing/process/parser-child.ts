import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { join, sep } from 'node:path';
import type { Writable } from 'node:stream';
import { assert } from '../../core/assert.ts';
import { compiledRoot, packageFolders, projectRoot } from '../../core/root.ts';
import { processLimits } from '../limits.ts';
import { allocateUser, assignUser, releaseUser } from '../sandbox-users.ts';
import { findInstallFolder, type Sandbox, signalExitCodeBase, wrapCommand } from '../tools/sandbox.ts';
import { isParserMessage, type ParserMessage, type ParserRequest } from './parser-messages.ts';
import { killProcessGroup } from './process-groups.ts';
import { inputDescriptor, lifelineDescriptor } from './watchdog.ts';

export interface ParserChildOptions {
  /** Compiled module that calls `serveParser`. */
  readonly entry: string;
  /** Absolute path of `prlimit`; null: only Node's own limits and the watchdog apply. */
  readonly prlimit: string | null;
  /** Isolates the process from the server's data and the network, in addition to Node's permission model. */
  readonly sandbox: Sandbox;
  /**
   * Folders that the process may read in addition to the code. It may not write anywhere or start programs.
   */
  readonly folders: readonly string[];
  /**
   * Working directory at the start, by which the next start of a killed server finds the process; absent: that
   * of the server.
   */
  readonly workingFolder?: string;
  /** Arguments of the module. */
  readonly args?: readonly string[];
}

/** Exit status of a child, and the end of its standard error. */
export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

/** A forked, restricted parser process. */
export class ParserChild {
  readonly pid: number;
  readonly folders: readonly string[];
  /** Resolves when the process has exited for any reason. */
  readonly exited: Promise<ChildExit>;
  /** Number of requests sent. */
  requestCount = 0;
  isAlive = true;

  private readonly process: ChildProcess;
  private sending: Promise<void> = Promise.resolve();
  private listener: ((message: ParserMessage) => void) | null = null;

  private constructor(process: ChildProcess, folders: readonly string[]) {
    assert(process.pid !== undefined, 'a forked process has an id');
    this.pid = process.pid;
    this.folders = folders;
    this.process = process;
    this.exited = this.watchExit();
    process.on('message', (message) => this.handleMessage(message));
  }

  /**
   * Forks and waits until the process is ready. Rejects when it cannot start, which is a fault of the host,
   * not of a document.
   */
  static async start(
    options: ParserChildOptions,
    onProcess: (event: 'started' | 'ended', pid: number) => void,
  ): Promise<ParserChild> {
    const { users } = options.sandbox;
    const userId = users === null ? null : allocateUser(users);
    const release = () => {
      if (users !== null && userId !== null) releaseUser(users, userId);
    };
    const childProcess = forkRestricted(options, userId);
    if (childProcess.pid === undefined) {
      release();
      const [error] = await once(childProcess, 'error');
      throw new Error('parser process cannot be started', { cause: error });
    }
    if (users !== null && userId !== null) assignUser(users, userId, childProcess.pid);
    const child = new ParserChild(childProcess, options.folders);
    void child.exited.then(release);
    onProcess('started', child.pid);
    void child.exited.then(() => onProcess('ended', child.pid));
    let timer: NodeJS.Timeout | undefined;
    const ready = new Promise<'ready'>((resolve) => child.listen(() => resolve('ready')));
    const timedOut = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), processLimits.startMsMax);
    });
    const first = await Promise.race([ready, timedOut, child.exited]);
    clearTimeout(timer);
    if (first === 'ready') return child;
    const end = await child.kill();
    throw new Error(`parser process did not become ready: ${describeExit(end)}\n${end.stderr.trim()}`);
  }

  /** Sets the listener for messages of the process, replacing the previous one. */
  listen(listener: (message: ParserMessage) => void): void {
    this.listener = listener;
  }

  /** Sends a request. A dead process is reported through `exited`. */
  sendRequest(request: ParserRequest): void {
    if (request.type !== 'tool-reply') this.requestCount += 1;
    if (this.process.connected) this.process.send(request, () => {});
  }

  /**
   * Sends `size` bytes of a file after the request that announces them. Resolves when they are in the pipe or
   * the process has exited; rejects when the file cannot be read or is shorter.
   */
  sendFile(file: string, size: number): Promise<void> {
    const sent = this.sending.then(() => this.writeFile(file, size));
    this.sending = sent.catch(() => {}); // the caller handles errors of `sent`; the next file only waits
    return sent;
  }

  private async writeFile(file: string, size: number): Promise<void> {
    const input = this.process.stdio.at(inputDescriptor) as Writable;
    let sent = 0;
    for await (const piece of readFilePieces(file, size)) {
      if (!this.isAlive || input.destroyed) return;
      sent += piece.byteLength;
      if (!input.write(piece)) await Promise.race([once(input, 'drain').catch(() => {}), this.exited]);
    }
    if (sent < size) throw new Error(`${file} has ${sent} bytes instead of ${size}`);
  }

  /** Kills the process and its launcher immediately; resolves when they have exited. */
  kill(): Promise<ChildExit> {
    if (this.isAlive) killProcessGroup(this.pid);
    return this.exited;
  }

  private handleMessage(message: unknown): void {
    if (isParserMessage(message)) {
      this.listener?.(message);
      return;
    }
    this.listener = null; // ignore the process after an invalid message
    void this.kill();
  }

  private watchExit(): Promise<ChildExit> {
    let stderr = '';
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-processLimits.stderrUnitsMax);
    });
    // After the start, an error is a message that could not be delivered; `close` reports how the process
    // ended.
    this.process.on('error', () => {});
    for (const pipe of this.process.stdio.slice(lifelineDescriptor)) pipe?.on('error', () => {});
    // `close` also waits for processes that a killed launcher left, because they hold its standard error.
    this.process.once('exit', () => killProcessGroup(this.pid));
    return new Promise((resolve) => {
      this.process.once('close', (code, signal) => {
        this.isAlive = false;
        resolve({ code, signal: signal ?? getSignal(code), stderr });
      });
    });
  }
}

const readPieceBytes = 262_144;

function readFilePieces(file: string, size: number): AsyncIterable<Buffer> | readonly Buffer[] {
  return size === 0 ? [] : createReadStream(file, { end: size - 1, highWaterMark: readPieceBytes });
}

function forkRestricted(
  { entry, prlimit, sandbox, folders, workingFolder, args = [] }: ParserChildOptions,
  userId: number | null,
): ChildProcess {
  // Every parser process must be able to read the compiled code.
  const readable = [compiledRoot, ...listDependencyPaths(), ...folders];
  const program = [
    ...(prlimit === null ? [] : [prlimit, `--data=${processLimits.dataBytesMax}`, '--core=0']),
    process.execPath,
    `--max-old-space-size=${processLimits.heapMebibytesMax}`,
    '--no-warnings',
    ...buildPermissionFlags(readable),
  ];
  const [execPath, ...execArgv] = wrapCommand(sandbox, {
    program,
    folder: null,
    readable: [...new Set([...findInstallFolder(process.execPath), process.execPath, ...readable])],
    userId,
  });
  return fork(entry, [...args], {
    execPath: execPath!,
    execArgv,
    env: {
      MALLOC_ARENA_MAX: '2', // each thread that decodes images would otherwise keep its own arena
      HOME: '/', // the image library looks up fonts in HOME and fails if it is unset
    },
    detached: true, // leads a process group
    ...(workingFolder === undefined ? {} : { cwd: workingFolder }),
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe', 'pipe'],
  });
}

/** Returns the signal encoded in the exit code of a launcher whose program was killed. */
function getSignal(code: number | null): NodeJS.Signals | null {
  const names = Object.entries(constants.signals) as [NodeJS.Signals, number][];
  return names.find(([, number]) => code === signalExitCodeBase + number)?.[0] ?? null;
}

function listDependencyPaths(): string[] {
  // If the folder is a link, Node reads the link itself before following it.
  const folders = packageFolders.flatMap((folder) => [folder, realpathSync(folder)]);
  return [...folders, join(projectRoot, 'package.json')];
}

/**
 * In Node 20 the permission model is experimental, takes one path per flag, and aborts on a duplicate path.
 */
function buildPermissionFlags(readable: readonly string[]): string[] {
  const stable = process.allowedNodeEnvironmentFlags.has('--permission');
  const paths = readable.map((path) => (path.endsWith('.json') || path.endsWith(sep) ? path : path + sep));
  return [
    stable ? '--permission' : '--experimental-permission',
    '--allow-addons',
    '--allow-worker',
    ...[...new Set(paths)].map((path) => `--allow-fs-read=${path}`),
  ];
}

/**
 * Describes in one line how a process ended: the error that Node reports, else the last line of its standard
 * error.
 */
export function describeExit({ code, signal, stderr }: ChildExit): string {
  const outcome = signal === null ? `exit code ${code}` : `signal ${signal}`;
  const lines = stderr.trim().split('\n');
  const errorLine = lines.findLast((line) => /^[A-Za-z]*Error\b.*:/.test(line)) ?? lines.at(-1) ?? '';
  return errorLine === '' ? outcome : `${outcome}: ${errorLine.slice(0, 300)}`;
}

/** Whether the process ran out of memory, as reported by its watchdog, V8 or the system allocator. */
export function exitedOutOfMemory({ stderr }: ChildExit): boolean {
  return /out of memory|bad_alloc|allocation failed|cannot allocate|unable to grow/i.test(stderr);
}
