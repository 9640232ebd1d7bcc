import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { EngineWork } from './engine-work.ts';

/** Methods of the engine process, with their parameter and result types. */
interface EngineCalls {
  readonly open: {
    readonly task: Parameters<typeof EngineWork.open>[0];
    readonly value: Awaited<ReturnType<typeof EngineWork.open>>['opened'];
  };
  readonly build: EngineCallTypes<'build'>;
  readonly recall: EngineCallTypes<'recall'>;
  readonly measure: EngineCallTypes<'measure'>;
  readonly churn: EngineCallTypes<'churn'>;
  readonly save: EngineCallTypes<'save'>;
  readonly close: EngineCallTypes<'close'>;
}
interface EngineCallTypes<Name extends keyof EngineWork> {
  readonly task: Parameters<EngineWork[Name]>[0];
  readonly value: Awaited<ReturnType<EngineWork[Name]>>;
}

export interface EngineCall {
  readonly number: number;
  readonly method: keyof EngineCalls;
  readonly task: unknown;
}
export interface EngineProgress {
  readonly method: keyof EngineCalls;
  /** Rows processed. */
  readonly done: number;
  readonly total: number;
}
export type EngineReply =
  | { readonly number: number; readonly progress: EngineProgress }
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly failure: string };

/** Names of the steps for error messages. */
const stepLabels = {
  open: 'opening',
  build: 'building',
  recall: 'measuring its recall',
  measure: 'measuring',
  churn: 'replacing',
  save: 'saving',
  close: 'closing',
} as const satisfies Record<keyof EngineCalls, string>;
const stderrCharactersMax = 16 * 1_024;
const closeMsMax = 20_000;

/** One engine in its own process; one call at a time. */
export class EngineProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;
  readonly #onProgress: (progress: EngineProgress) => void;
  readonly #signal: AbortSignal;
  #number = 0;
  #stderr = '';

  /**
   * `onProgress` is called during long operations. An abort of `signal` rejects the running call; the process
   * can then only be terminated.
   */
  constructor(signal: AbortSignal, onProgress: (progress: EngineProgress) => void = () => {}) {
    this.#onProgress = onProgress;
    this.#signal = signal;
    const child = fileURLToPath(new URL('./engine-child.js', import.meta.url));
    this.#child = fork(child, {
      serialization: 'advanced',
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (part: string) => {
      this.#stderr = (this.#stderr + part).slice(-stderrCharactersMax);
    });
    this.#ended = new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      this.#child.once('error', reject);
      this.#child.once('exit', (code, signal) =>
        reject(new Error(`The process of the engine ended (${signal ?? code}). ${this.#stderr}`.trimEnd())),
      );
    });
    this.#ended.catch(() => {});
  }

  async call<What extends keyof EngineCalls>(
    method: What,
    ...[task]: undefined extends EngineCalls[What]['task'] ? [] : [EngineCalls[What]['task']]
  ): Promise<EngineCalls[What]['value']> {
    const number = ++this.#number;
    const answered = new Promise<EngineCalls[What]['value']>((resolve, reject) => {
      const listener = (reply: EngineReply) => {
        if (reply.number !== number) return;
        if ('progress' in reply) {
          this.#onProgress(reply.progress);
          return;
        }
        this.#child.off('message', listener);
        if ('failure' in reply) reject(new Error(reply.failure));
        else resolve(reply.value as EngineCalls[What]['value']);
      };
      this.#child.on('message', listener);
    });
    if (this.#child.connected) this.#child.send({ number, method, task } satisfies EngineCall);
    try {
      return await Promise.race([answered, this.#ended]);
    } catch (error) {
      throw new Error(`While ${stepLabels[method]}: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Terminates the process. Idempotent. */
  async terminate(): Promise<void> {
    if (this.#child.pid === undefined) return;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    const msMax = this.#signal.aborted ? 0 : closeMsMax;
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), msMax);
    if (this.#child.connected) this.#child.disconnect();
    await exited;
    clearTimeout(timer);
  }
}
