import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { assertDefined } from '../../src/core/assert.ts';

export interface ManagedProcessOptions {
  /** Compiled file and its arguments, run by this Node.js. */
  readonly programArguments: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Pattern of the line that the child prints on standard output when it is ready. */
  readonly ready: RegExp;
  readonly readyMsMax: number;
  /** Milliseconds from SIGTERM to SIGKILL. */
  readonly stopMsMax: number;
}

const outputCharactersMax = 64 * 1024;

/**
 * Starts a process and waits until it is ready. Errors: rejects with its output if it exits or takes too
 * long.
 */
export async function startProcess(options: ManagedProcessOptions): Promise<ManagedProcess> {
  const child = new ManagedProcess(options);
  try {
    await child.ready;
    return child;
  } catch (error) {
    await child.terminate();
    throw error;
  }
}

/** A child process that ends with the bench. */
export class ManagedProcess {
  /** Match of `options.ready`; rejects if the process exits before. */
  readonly ready: Promise<RegExpExecArray>;
  readonly #options: ManagedProcessOptions;
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #closed: Promise<void>;
  #stopping: Promise<void> | null = null;
  #out = '';
  #err = '';

  constructor(options: ManagedProcessOptions) {
    this.#options = options;
    this.#process = spawn(process.execPath, options.programArguments, {
      env: options.environment,
      stdio: 'pipe',
    });
    this.#closed = new Promise((resolve) => this.#process.once('close', () => resolve()));
    this.#process.stderr.setEncoding('utf8').on('data', (part: string) => {
      this.#err = (this.#err + part).slice(-outputCharactersMax);
    });
    this.ready = new Promise((resolve, reject) => {
      const fail = (problem: string) => reject(this.#failure(problem));
      const timer = setTimeout(
        () => fail(`was not ready after ${options.readyMsMax} ms`),
        options.readyMsMax,
      );
      this.#process.on('error', (error) => fail(`did not start: ${error.message}`));
      this.#process.once('close', () => {
        clearTimeout(timer);
        fail(`ended before it was ready (${this.#outcome()})`);
      });
      this.#process.stdout.setEncoding('utf8').on('data', (part: string) => {
        this.#out = (this.#out + part).slice(-outputCharactersMax);
        const match = options.ready.exec(this.#out);
        if (match === null) return;
        clearTimeout(timer);
        resolve(match);
      });
    });
  }

  get pid(): number {
    return assertDefined(this.#process.pid, 'a process that is ready has an id');
  }

  /**
   * Stops the process. Idempotent. Errors: rejects if it had to be killed, or had crashed before (with its
   * standard error).
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    // A terminal and `timeout` send the signal that ends the bench to its children too.
    const isSignaled = this.#process.signalCode === 'SIGINT' || this.#process.signalCode === 'SIGTERM';
    const hasCrashed = this.#hasEnded() && this.#process.exitCode !== 0 && !isSignaled;
    const crash = hasCrashed ? this.#failure(`crashed (${this.#outcome()})`) : null;
    const ended = await this.terminate();
    if (crash !== null) throw crash;
    if (ended === 'killed')
      throw this.#failure(`did not end within ${this.#options.stopMsMax} ms of SIGTERM`);
  }

  /** Kills the process at once, like a crash; a later `stop` then succeeds. */
  async kill(): Promise<void> {
    this.#stopping = Promise.resolve();
    this.#process.kill('SIGKILL');
    await this.#closed;
  }

  /** Sends SIGTERM, then SIGKILL after `stopMsMax`; resolves when the process has exited. */
  async terminate(): Promise<'ended' | 'killed'> {
    if (this.#process.pid === undefined) return 'ended';
    let outcome: 'ended' | 'killed' = 'ended';
    const timer = setTimeout(() => {
      outcome = 'killed';
      this.#process.kill('SIGKILL');
    }, this.#options.stopMsMax);
    if (!this.#hasEnded()) this.#process.kill('SIGTERM');
    await this.#closed;
    clearTimeout(timer);
    return outcome;
  }

  #hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  #outcome(): string {
    return this.#process.signalCode ?? `exit code ${this.#process.exitCode}`;
  }

  #failure(problem: string): Error {
    return new Error(
      `${this.#options.programArguments.join(' ')} ${problem}.\n${this.#out}${this.#err}`.trimEnd(),
    );
  }
}
