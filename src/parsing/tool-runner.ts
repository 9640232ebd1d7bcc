import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { Readable } from 'node:stream';
import type { OptionalToolName, OptionalTools } from './optional-tools.ts';
import { isPlainFile, ownFolder } from './own-folder.ts';
import { installFolder, type Sandbox, signalCodes, wrapCommand } from './sandbox.ts';
import { giveUser, takeUser } from './sandbox-users.ts';

export interface ToolRunnerOptions {
  readonly tools: OptionalTools;
  /** What keeps tools from the data of the server and from the network. */
  readonly sandbox: Sandbox;
  /** Folder of the tools' own temporary folders; whatever is in it is deleted. */
  readonly folder: string;
  /** A name that nobody used before. */
  readonly freshName: () => string;
  /** Room for more files on the disk of a folder. */
  readonly freeBytes: (folder: string) => Promise<number>;
}

/** The disk of the temporary files has not the room that a run needs. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
}

/**
 * One run of a program, which sees no files of the server but those in its folder. All bounds are inclusive maxima; reaching
 * one ends the run.
 */
export interface ToolRun {
  readonly tool: OptionalToolName;
  readonly flags: readonly string[];
  /** Its own folder: where it runs, and what HOME and TMPDIR are. */
  readonly folder: string;
  /** What it reads from standard input. */
  readonly input?: Uint8Array;
  readonly msMax: number;
  readonly memoryBytesMax: number;
  /** Any file it writes. */
  readonly fileBytesMax: number;
  /** What it writes to standard output. */
  readonly outputBytesMax: number;
  readonly signal: AbortSignal;
}

export type ToolEnd =
  | { readonly how: 'exited'; readonly code: number; readonly output: Buffer; readonly complaint: string }
  | { readonly how: 'killed'; readonly complaint: string }
  | { readonly how: 'timeout' | 'flooded' | 'cancelled' };

const complaintUnitsMax = 2_000;
/** How much tools yield to searches and queries. */
const niceness = '10';

/**
 * Runs the optional programs, each with bounds on time, memory and output, in a
 * sandbox, process group and folder of its own. Lives in the main thread, which therefore owns every such process.
 */
export class ToolRunner {
  readonly #options: ToolRunnerOptions;
  readonly #groups = new Set<number>();

  /** Also ends and deletes what a server that was killed has left in the same folder. */
  constructor(options: ToolRunnerOptions) {
    this.#options = options;
    const { folder } = options;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const pid of processesIn(folder)) kill(pid);
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
  }

  get sandbox(): Sandbox {
    return this.#options.sandbox;
  }

  get tools(): OptionalTools {
    return this.#options.tools;
  }

  /** Hands out a folder that is gone when `use` is over, however it ends. */
  async withFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
    const folder = join(this.#options.folder, this.#options.freshName());
    try {
      await mkdir(folder, { mode: 0o700 });
      return await use(folder);
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  /** Rejects with `NoRoom` where less than `bytes` are free. */
  async checkRoom(bytes: number): Promise<void> {
    const free = await this.#options.freeBytes(this.#options.folder);
    if (free < bytes) throw new NoRoom(`${free} bytes are free, ${bytes} are needed`);
  }

  /** Runs a tool that this host has. Rejects only when it cannot be started at all. */
  async run(run: ToolRun): Promise<ToolEnd> {
    if (run.signal.aborted) return { how: 'cancelled' };
    const { sandbox } = this.#options;
    if (sandbox.users === null) return this.#runAs(run, null);
    const userId = takeUser(sandbox.users);
    try {
      await ownFolder(run.folder, userId);
      const end = await this.#runAs(run, userId);
      await ownFolder(run.folder, ownUserId());
      return end;
    } finally {
      giveUser(sandbox.users, userId);
    }
  }

  async #runAs(run: ToolRun, userId: number | null): Promise<ToolEnd> {
    const [command, ...flags] = this.#commandLine(run, userId);
    const process = spawn(command!, flags, {
      cwd: run.folder,
      detached: true,
      env: variablesOf(run.folder),
      stdio: [run.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    const { pid } = process;
    if (pid === undefined) {
      const cause = await new Promise((resolve) => process.once('error', resolve));
      throw new Error(`${run.tool} cannot be started`, { cause });
    }
    this.#groups.add(pid);
    try {
      return await ended(process, run, () => kill(-pid));
    } finally {
      this.#groups.delete(pid);
    }
  }

  /** The file that a run has left at `path` of its folder; null when there is none, or something else than a file. */
  async result(folder: string, path: string): Promise<string | null> {
    const file = join(folder, path);
    return (await isPlainFile(folder, file)) ? file : null;
  }

  /** Ends every tool that runs. */
  killAll(): void {
    for (const pid of this.#groups) kill(-pid);
  }

  #commandLine(
    { tool, flags, folder, memoryBytesMax, fileBytesMax, msMax }: ToolRun,
    userId: number | null,
  ): string[] {
    const { tools, sandbox } = this.#options;
    const path = tools[tool];
    if (path === null) throw new Error(`${tool} is not installed`);
    const bounds = [
      `--data=${memoryBytesMax}`,
      `--fsize=${fileBytesMax}`,
      // The clock ends it first; this one holds when the server is gone.
      `--cpu=${2 * Math.ceil(msMax / 1_000)}`,
      '--core=0',
    ];
    const program = [...(tools.prlimit === null ? [] : [tools.prlimit, ...bounds]), path, ...flags];
    return [
      ...(tools.setpriv === null ? [] : [tools.setpriv, '--pdeathsig', 'KILL']),
      ...(tools.nice === null ? [] : [tools.nice, '-n', niceness]),
      ...wrapCommand(sandbox, { program, folder, readable: installFolder(path), userId }),
    ];
  }
}

function ownUserId(): number {
  return process.getuid?.() ?? 0;
}

/** Tools see nothing of the server's environment. One core each: the number that run is the server's to decide. */
function variablesOf(folder: string): Record<string, string> {
  return {
    PATH: '/usr/bin:/bin',
    HOME: folder,
    TMPDIR: folder,
    LANG: 'C.UTF-8',
    LC_ALL: 'C.UTF-8',
    OMP_THREAD_LIMIT: '1',
  };
}

function ended(process: ChildProcess, run: ToolRun, kill: () => void): Promise<ToolEnd> {
  return new Promise((resolve) => {
    const output: Buffer[] = [];
    let bytes = 0;
    let complaint = '';
    let stopped: 'timeout' | 'flooded' | 'cancelled' | null = null;
    const stop = (why: 'timeout' | 'flooded' | 'cancelled') => {
      stopped ??= why;
      kill();
    };
    const timer = setTimeout(() => stop('timeout'), run.msMax);
    const onAbort = () => stop('cancelled');
    run.signal.addEventListener('abort', onAbort, { once: true });
    (process.stdout as Readable).on('data', (piece: Buffer) => {
      bytes += piece.byteLength;
      if (bytes > run.outputBytesMax) stop('flooded');
      else output.push(piece);
    });
    (process.stderr as Readable).setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-complaintUnitsMax);
    });
    // A tool that does not read all of its input says so by how it ends.
    process.stdin?.on('error', () => {});
    process.stdin?.end(run.input);
    process.once('error', () => {}); // a signal that could not be sent: the process is gone
    // What it has started and left behind goes with it.
    process.once('exit', kill);
    process.once('close', (code) => {
      clearTimeout(timer);
      run.signal.removeEventListener('abort', onAbort);
      if (stopped !== null) resolve({ how: stopped });
      else if (code === null || code > signalCodes) resolve({ how: 'killed', complaint });
      else resolve({ how: 'exited', code, output: Buffer.concat(output), complaint });
    });
  });
}

/** Processes that run inside a folder. Where there is no /proc, none are found. */
function processesIn(folder: string): number[] {
  return listProcesses().filter((pid) => {
    try {
      return `${readlinkSync(`/proc/${pid}/cwd`)}${sep}`.startsWith(folder + sep);
    } catch {
      return false; // it has ended, or belongs to somebody else
    }
  });
}

function listProcesses(): number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

/** `pid` of a process, or the negative one of a group. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM')))
      throw error;
  }
}
