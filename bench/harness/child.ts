import { spawn } from 'node:child_process';

export interface ChildOptions {
  /** Compiled file and its arguments, run by this Node.js. */
  readonly words: readonly string[];
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** What the child prints on standard output when it is ready. */
  readonly ready: RegExp;
  readonly readyMsMax: number;
  /** Milliseconds from SIGTERM to SIGKILL. */
  readonly stopMsMax: number;
}

export interface Child {
  readonly pid: number;
  /** The match of `ready`. */
  readonly match: RegExpExecArray;
  /** SIGTERM, then the end; harmless twice. Rejects when the child had to be killed. */
  stop(): Promise<void>;
}

const heldCharactersMax = 64 * 1024;

/** Starts a process and waits until it is ready. Rejects with what it wrote when it ends or takes too long. */
export async function startChild(options: ChildOptions): Promise<Child> {
  const child = spawn(process.execPath, options.words, {
    env: options.variables,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const written = { out: '', err: '' };
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let stopping: Promise<void> | null = null;
  const stop = () => {
    stopping ??= stopWithin(child, ended, options.stopMsMax);
    return stopping;
  };
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    written.err = (written.err + part).slice(-heldCharactersMax);
  });
  try {
    const match = await new Promise<RegExpExecArray>((resolve, reject) => {
      const refuse = (what: string) =>
        reject(new Error(`${options.words[0]} ${what}.\n${written.out}${written.err}`.trimEnd()));
      const timer = setTimeout(
        () => refuse(`was not ready after ${options.readyMsMax} ms`),
        options.readyMsMax,
      );
      child.on('error', (error) => refuse(`did not start: ${error.message}`));
      child.once('close', (code, signal) => {
        clearTimeout(timer);
        refuse(`ended before it was ready (${signal ?? `exit code ${code}`})`);
      });
      child.stdout.setEncoding('utf8').on('data', (part: string) => {
        written.out = (written.out + part).slice(-heldCharactersMax);
        const found = options.ready.exec(written.out);
        if (found === null) return;
        clearTimeout(timer);
        resolve(found);
      });
    });
    if (child.pid === undefined) throw new Error(`${options.words[0]} has no process.`);
    return { pid: child.pid, match, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function stopWithin(
  child: ReturnType<typeof spawn>,
  ended: Promise<void>,
  stopMsMax: number,
): Promise<void> {
  if (child.pid === undefined) return;
  let killed = false;
  const timer = setTimeout(() => {
    killed = true;
    child.kill('SIGKILL');
  }, stopMsMax);
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
  await ended;
  clearTimeout(timer);
  if (killed)
    throw new Error(`Process ${child.pid} did not end within ${stopMsMax} ms of SIGTERM and was killed.`);
}
