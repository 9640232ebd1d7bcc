import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const compiledRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export interface CliResult {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface CliOptions {
  readonly variables?: Record<string, string>;
  readonly folder?: string;
  /** Runs the command in a pseudo-terminal (needs util-linux `script`); `out` has both streams. */
  readonly isOnTerminal?: boolean;
  /** Called when the process has started; `kill` sends it a signal. */
  readonly onStarted?: (kill: (signal: NodeJS.Signals) => void) => void;
}

/** Runs the command line in a separate process, without any QUARRY_* or color variable except the given ones. */
export async function runQuarry(
  commandLineArguments: readonly string[],
  options: CliOptions = {},
): Promise<CliResult> {
  const isInherited = (name: string) => !/^QUARRY_|^(?:NO_COLOR|FORCE_COLOR)$/.test(name);
  const inherited = Object.entries(process.env).filter(([name]) => isInherited(name));
  const program = [process.execPath, join(compiledRoot, 'src', 'cli', 'main.js')];
  // Without NODE_OPTIONS: the test runner would inject its loaders into every command.
  const words = ['env', '-u', 'NODE_OPTIONS', ...program, ...commandLineArguments];
  const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const [file = '', ...rest] =
    options.isOnTerminal === true ? ['script', '-qec', quoted, '/dev/null'] : words;
  const child = spawn(file, rest, {
    cwd: options.folder,
    env: { ...Object.fromEntries(inherited), ...options.variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    out += part;
  });
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    err += part;
  });
  options.onStarted?.((signal) => void child.kill(signal));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, out, err };
}
