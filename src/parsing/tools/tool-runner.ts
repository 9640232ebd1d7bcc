import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { killProcessesIn, killProcessGroup } from '../process/process-groups.ts';
import { allocateUser, releaseUser } from '../sandbox-users.ts';
import { chownFolder, isRegularFile } from './file-ownership.ts';
import type { OptionalToolName, OptionalTools } from './optional-tools.ts';
import { findInstallFolder, type Sandbox, signalExitCodeBase, wrapCommand } from './sandbox.ts';

export interface ToolRunnerOptions {
  readonly tools: OptionalTools;
  /** Isolates tools from the server's data and the network. */
  readonly sandbox: Sandbox;
  /** Parent of the tools' temporary folders; working directory of parser processes. Must exist and be empty. */
  readonly folder: string;
  /** Returns a name that was never used before. */
  readonly createUniqueName: () => string;
  /** Returns the free bytes on the disk of a folder. */
  readonly getFreeBytes: (folder: string) => Promise<number>;
}

/** The disk of the temporary files has less free space than a run needs. */
export class DiskFullError extends Error {
  override readonly name = 'DiskFullError';
}

/**
 * One run of a program. The program sees no files of the server except those in `folder`. All bounds are
 * inclusive maxima; exceeding one ends the run.
 */
export interface ToolRun {
  readonly tool: OptionalToolName;
  readonly flags: readonly string[];
  /** Working directory of the run; also its HOME and TMPDIR. */
  readonly folder: string;
  /** Standard input. */
  readonly input?: Uint8Array;
  readonly msMax: number;
  readonly memoryBytesMax: number;
  /** Maximum size of each file that the program writes, in bytes. */
  readonly fileBytesMax: number;
  /** Maximum size of standard output, in bytes. */
  readonly outputBytesMax: number;
  readonly signal: AbortSignal;
}

export type ToolExit =
  | { readonly outcome: 'exited'; readonly code: number; readonly output: Buffer; readonly stderr: string }
  | { readonly outcome: 'killed'; readonly stderr: string }
  | { readonly outcome: 'timeout' | 'output-limit' | 'canceled' };

const stderrUnitsMax = 2_000;
/** Niceness of tools, so that searches and queries take precedence. */
const niceness = '10';

/**
 * Creates the folder of a `ToolRunner`, or kills the processes and deletes the files that a killed server left in
 * it.
 */
export async function prepareToolFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  killProcessesIn(folder);
  // A killed process ends its last system call, which may create a file. `rmSync` would not delete that file: its
  // retries only repeat the deletion of the folder.
  for (const name of await readdir(folder))
    await rm(join(folder, name), { recursive: true, force: true, maxRetries: 10 });
}

/**
 * Runs the optional programs, each with bounds on time, memory and output, in its own sandbox, process group
 * and folder. Lives in the main thread, which therefore owns all these processes.
 */
export class ToolRunner {
  readonly #options: ToolRunnerOptions;
  readonly #processGroups = new Set<number>();

  constructor(options: ToolRunnerOptions) {
    this.#options = options;
  }

  get folder(): string {
    return this.#options.folder;
  }

  get sandbox(): Sandbox {
    return this.#options.sandbox;
  }

  get tools(): OptionalTools {
    return this.#options.tools;
  }

  /** Creates a folder for `use` and deletes it afterwards, even on failure. */
  async withTemporaryFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
    const folder = join(this.#options.folder, this.#options.createUniqueName());
    try {
      await mkdir(folder, { mode: 0o700 });
      return await use(folder);
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  /** Errors: `DiskFullError` when less than `bytes` are free. */
  async checkDiskSpace(bytes: number): Promise<void> {
    const free = await this.#options.getFreeBytes(this.#options.folder);
    if (free < bytes) throw new DiskFullError(`${free} bytes are free, ${bytes} are needed`);
  }

  /** Runs an installed tool. Rejects only when the tool cannot be started. */
  async run(run: ToolRun): Promise<ToolExit> {
    if (run.signal.aborted) return { outcome: 'canceled' };
    const { sandbox } = this.#options;
    if (sandbox.users === null) return this.#runAs(run, null);
    const userId = allocateUser(sandbox.users);
    try {
      await chownFolder(run.folder, userId);
      const end = await this.#runAs(run, userId);
      await chownFolder(run.folder, getOwnUserId());
      return end;
    } finally {
      releaseUser(sandbox.users, userId);
    }
  }

  async #runAs(run: ToolRun, userId: number | null): Promise<ToolExit> {
    const [command, ...flags] = this.#buildCommand(run, userId);
    const process = spawn(command!, flags, {
      cwd: run.folder,
      detached: true,
      env: buildEnvironment(run.folder),
      stdio: [run.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    const { pid } = process;
    if (pid === undefined) {
      const cause = await new Promise((resolve) => process.once('error', resolve));
      throw new Error(`${run.tool} cannot be started`, { cause });
    }
    this.#processGroups.add(pid);
    try {
      return await waitForExit(process, run, () => killProcessGroup(pid));
    } finally {
      this.#processGroups.delete(pid);
    }
  }

  /**
   * Returns the path of a result file in the folder of a run; null when it does not exist or is not a regular
   * file.
   */
  async findResult(folder: string, path: string): Promise<string | null> {
    const file = join(folder, path);
    return (await isRegularFile(folder, file)) ? file : null;
  }

  /** Kills all running tools. */
  killAll(): void {
    for (const pid of this.#processGroups) killProcessGroup(pid);
  }

  #buildCommand(
    { tool, flags, folder, memoryBytesMax, fileBytesMax, msMax }: ToolRun,
    userId: number | null,
  ): string[] {
    const { tools, sandbox } = this.#options;
    const path = tools[tool];
    if (path === null) throw new Error(`${tool} is not installed`);
    const bounds = [
      `--data=${memoryBytesMax}`,
      `--fsize=${fileBytesMax}`,
      // `msMax` normally ends the run first; this bound also applies when the server is gone.
      `--cpu=${2 * Math.ceil(msMax / 1_000)}`,
      '--core=0',
    ];
    const program = [...(tools.prlimit === null ? [] : [tools.prlimit, ...bounds]), path, ...flags];
    return [
      ...(tools.setpriv === null ? [] : [tools.setpriv, '--pdeathsig', 'KILL']),
      ...(tools.nice === null ? [] : [tools.nice, '-n', niceness]),
      ...wrapCommand(sandbox, { program, folder, readable: findInstallFolder(path), userId }),
    ];
  }
}

function getOwnUserId(): number {
  return process.getuid?.() ?? 0;
}

/**
 * Tools do not inherit the server's environment. Each tool uses one core, because the server decides how many
 * tools run.
 */
function buildEnvironment(folder: string): Record<string, string> {
  return {
    PATH: '/usr/bin:/bin',
    HOME: folder,
    TMPDIR: folder,
    LANG: 'C.UTF-8',
    LC_ALL: 'C.UTF-8',
    OMP_THREAD_LIMIT: '1',
  };
}

function waitForExit(process: ChildProcess, run: ToolRun, kill: () => void): Promise<ToolExit> {
  return new Promise((resolve) => {
    const output: Buffer[] = [];
    let bytes = 0;
    let stderr = '';
    let stopReason: 'timeout' | 'output-limit' | 'canceled' | null = null;
    const stop = (reason: 'timeout' | 'output-limit' | 'canceled') => {
      stopReason ??= reason;
      kill();
    };
    const timer = setTimeout(() => stop('timeout'), run.msMax);
    const onAbort = () => stop('canceled');
    run.signal.addEventListener('abort', onAbort, { once: true });
    (process.stdout as Readable).on('data', (piece: Buffer) => {
      bytes += piece.byteLength;
      if (bytes > run.outputBytesMax) stop('output-limit');
      else output.push(piece);
    });
    (process.stderr as Readable).setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-stderrUnitsMax);
    });
    // A tool that does not read all of its input reports the reason through its exit code.
    process.stdin?.on('error', () => {});
    process.stdin?.end(run.input);
    process.once('error', () => {}); // a signal that could not be sent: the process is gone
    // Kill child processes that the tool left behind.
    process.once('exit', kill);
    process.once('close', (code) => {
      clearTimeout(timer);
      run.signal.removeEventListener('abort', onAbort);
      if (stopReason !== null) resolve({ outcome: stopReason });
      else if (code === null || code > signalExitCodeBase) resolve({ outcome: 'killed', stderr });
      else resolve({ outcome: 'exited', code, output: Buffer.concat(output), stderr });
    });
  });
}
