import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { createTerminal } from '../../src/cli/terminal.ts';
import { readProcessSources } from '../../src/config/settings.ts';

const compiledRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export interface CliResult {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface CliOptions {
  readonly variables?: Record<string, string>;
  readonly folder?: string;
  /** Whether the streams are those of a terminal; `out` has both. A process needs util-linux `script`. */
  readonly isOnTerminal?: boolean;
  /** Called when the process has started; `kill` sends it a signal. */
  readonly onStarted?: (kill: (signal: NodeJS.Signals) => void) => void;
}

/**
 * Runs the command line with no QUARRY_* or color variable except the given ones. It runs in this process,
 * because a new one costs .3 s of CPU time, unless the options or variables need one: a folder, a signal, or a variable
 * that is no setting.
 */
export function runQuarry(words: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const { variables = {}, folder, isOnTerminal = false, onStarted } = options;
  const isSetting = (name: string) => /^QUARRY_|^(?:NO_COLOR|FORCE_COLOR)$/.test(name);
  const needsProcess = folder !== undefined || onStarted !== undefined;
  if (needsProcess || words.includes('serve') || !Object.keys(variables).every(isSetting))
    return runQuarryProcess(words, options);
  return runInThisProcess(words, variables, isOnTerminal);
}

async function runInThisProcess(
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
  isTTY: boolean,
): Promise<CliResult> {
  const texts = { out: '', err: '' };
  const collect = (name: 'out' | 'err') => {
    const stream = new Writable({
      decodeStrings: false,
      write(text: string, _encoding, written) {
        texts[isTTY ? 'out' : name] += text;
        written();
      },
    });
    return Object.assign(stream, { isTTY });
  };
  const streams = { input: Readable.from([]), output: collect('out'), errors: collect('err') };
  const code = await runCommandLine(words, {
    terminal: createTerminal(streams, variables),
    print: (text) => void streams.output.write(text),
    readSources: (flags) => ({ ...readProcessSources(flags), variables }),
    createInterruptSignal: () => new AbortController().signal,
  });
  return { code, ...texts };
}

/** Runs the command line in a separate process, without any QUARRY_* or color variable except the given ones. */
export async function runQuarryProcess(
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
