import { type ChildProcess, spawn } from 'node:child_process';
import { AppError } from '../../core/app-error.ts';
import { sourceLimits } from '../../core/source-limits.ts';

export interface GitCommand {
  /** Folder of the repository, which is also the home of the process. */
  readonly folder: string;
  readonly arguments: readonly string[];
  /** Settings of Git, passed by environment variables: arguments are visible to other users. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Bytes of each file that it may write. */
  readonly fileBytesMax?: number;
}

/** Settings of every command: nothing but the repository is read, run, asked or connected to. */
const commonSettings: Readonly<Record<string, string>> = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'credential.helper': '',
  'gc.auto': '0',
  // Packs are counted and measured; single objects are not.
  'fetch.unpackLimit': '1',
  // Larger files are streamed.
  'core.bigFileThreshold': '32m',
  'pack.threads': '1',
  'maintenance.auto': 'false',
  'fetch.recurseSubmodules': 'false',
  'fetch.fsckObjects': 'true',
  'protocol.allow': 'never',
  'protocol.http.allow': 'always',
  'protocol.https.allow': 'always',
  // Also disables alternates on other hosts.
  'http.followRedirects': 'false',
  'transfer.bundleURI': 'false',
};

/** Runs the system's `git` and returns its output. Errors: AppError; the reason of the signal. */
export async function runGit(command: GitCommand): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of streamGit(command)) {
    bytes += piece.byteLength;
    if (bytes > sourceLimits.gitOutputBytesMax)
      throw new AppError(
        'too_large',
        `The list of files of the repository has more than ${sourceLimits.gitOutputBytesMax} bytes. Choose a folder of the repository with fewer files.`,
      );
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Errors: AppError if the system has no `git`, or one that would resolve the names of hosts itself. */
export async function checkGitVersion(folder: string, signal: AbortSignal): Promise<void> {
  const text = (await runGit({ folder, arguments: ['version'], signal })).toString('latin1');
  const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(text) ?? []).map(Number);
  if (major < 2 || (major === 2 && minor < 37))
    throw new AppError(
      'precondition_failed',
      'The Git of the server is too old. Ask its operator to install version 2.37 or later.',
    );
}

/** Yields the output of the system's `git`. Ending the iteration ends the process. Errors: as `runGit`. */
export async function* streamGit({
  folder,
  arguments: words,
  settings = {},
  signal,
  fileBytesMax = sourceLimits.gitCopyBytesMax,
}: GitCommand): AsyncGenerator<Buffer, void, void> {
  signal.throwIfAborted();
  // A process group of its own, because `git` starts others. The shell limits the size of files, in blocks.
  const blocks = String(Math.ceil(fileBytesMax / 512));
  const child = spawn('/bin/sh', ['-c', 'ulimit -f "$0" && exec git "$@"', blocks, ...words], {
    cwd: folder,
    detached: true,
    env: buildEnvironment(folder, { ...commonSettings, ...settings }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let messages = '';
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    if (messages.length < messageUnitsMax) messages += piece;
  });
  const ended = whenEnded(child);
  const stop = () => killGroup(child);
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const piece of child.stdout) yield piece as Buffer;
    const code = await ended;
    signal.throwIfAborted();
    if (code === missingProgram) throw gitMissing();
    if (code !== 0) throw new AppError('bad_gateway', describeFailure(messages));
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
    await ended.catch(() => undefined);
  }
}

const messageUnitsMax = 8_192;
/** Exit code of a shell that does not find a program. */
const missingProgram = 127;

function buildEnvironment(
  folder: string,
  settings: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const entries = Object.entries(settings);
  return {
    PATH: '/usr/bin:/bin:/usr/local/bin',
    HOME: folder,
    LC_ALL: 'C',
    GIT_DIR: folder,
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_COUNT: String(entries.length),
    ...Object.fromEntries(
      entries.flatMap(([key, value], i) => [
        [`GIT_CONFIG_KEY_${i}`, key],
        [`GIT_CONFIG_VALUE_${i}`, value],
      ]),
    ),
  };
}

function whenEnded(child: ChildProcess): Promise<number | null> {
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('close', resolve);
    child.once('error', reject);
  });
  // Awaited after the output.
  ended.catch(() => undefined);
  return ended;
}

function gitMissing(): AppError {
  return new AppError(
    'precondition_failed',
    'The server has no Git. Ask its operator to install the package git (2.37 or later).',
  );
}

function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The last lines that Git reports as errors. */
function describeFailure(messages: string): string {
  if (/could not read Username|Authentication failed/.test(messages))
    return 'The repository does not exist, or it needs credentials that may read it.';
  const lines = messages.split('\n').flatMap((line) => /^(?:fatal|error): (.*)/.exec(line)?.[1] ?? []);
  const reason = lines.at(-1)?.slice(0, 512);
  return reason === undefined ? 'Git failed and reported no reason.' : `Git reports: ${reason}`;
}
