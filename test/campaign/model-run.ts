import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ModelCheck } from '../crash/check.ts';
import { CrashModel } from '../crash/crash-model.ts';
import type { MismatchReporter } from '../crash/mismatch-reporter.ts';
import { ServerProcess } from '../crash/server.ts';
import type { PartContext } from './part.ts';

const workers = 6;

/** Server under random work, with a model of everything it has acknowledged. */
export class ModelRun {
  readonly model: CrashModel;
  readonly data: string;
  readonly #context: PartContext;
  readonly #mismatches: MismatchReporter;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #addresses = new Map<string, string>();
  #server: ServerProcess | null = null;
  #isStopped = true;
  #work: Promise<unknown> = Promise.resolve();
  starts = 0;

  /** `guarantee` is the guarantee violated by any mismatch between server and model. */
  constructor(
    context: PartContext,
    options: { guarantee: string; data: string; variables: Readonly<Record<string, string>> },
  ) {
    const { guarantee } = options;
    this.#context = context;
    this.#variables = options.variables;
    this.data = options.data;
    this.model = new CrashModel(context.random);
    this.#mismatches = {
      fail: (message, details) => context.violate(guarantee, message, details),
      same: (actual, expected, message) => {
        if (!isDeepStrictEqual(actual, expected)) context.violate(guarantee, message, { actual, expected });
      },
    };
    context.onCleanup(() => this.kill());
  }

  get server(): ServerProcess {
    if (this.#server === null) throw new Error('the server does not run');
    return this.#server;
  }

  async start(): Promise<void> {
    this.starts += 1;
    this.#server = await ServerProcess.start(this.data, {
      variables: this.#variables,
      onSpawn: (child) => this.#context.trackProcess(child),
    });
  }

  async kill(): Promise<void> {
    await this.#server?.kill();
    this.#server = null;
  }

  /** Starts the random work; `stopWork` ends it. */
  startWork(): void {
    const { server } = this;
    this.#isStopped = false;
    const isStopped = () => this.#isStopped;
    this.#work = Promise.all(Array.from({ length: workers }, () => this.model.work(server, isStopped)));
    // `stopWork` reports a failure; until then the rejection must count as handled.
    this.#work.catch(() => undefined);
  }

  async stopWork(): Promise<void> {
    this.#isStopped = true;
    await this.#work;
  }

  /** Runs the random work for `milliseconds`. */
  async workFor(milliseconds: number): Promise<void> {
    this.startWork();
    await wait(milliseconds);
    await this.stopWork();
  }

  /** Compares the server with everything it has acknowledged. */
  async checkAgainstModel(): Promise<void> {
    const { server, model } = this;
    const parts = { mismatches: this.#mismatches, server, model, random: this.#context.random };
    await new ModelCheck({ ...parts, fileUrls: this.#addresses }).checkAll();
  }

  /** Deletes a document that exists in the model; returns false if there is none. */
  async loseDocument(): Promise<boolean> {
    return loseDocument(this.server, this.model);
  }
}

/** Makes a server differ from its model, like the loss of an acknowledged write. */
export async function loseDocument(server: ServerProcess, model: CrashModel): Promise<boolean> {
  for (const folder of model.collections.values()) {
    for (const [path, states] of folder.paths) {
      if (states.length > 1 || (states[0] ?? null) === null || folder.possibleExists.length > 1) continue;
      await server.call('documents/delete-document', { collection_name: folder.name, path });
      return true;
    }
  }
  return false;
}

/** Data directory of a part that runs one server. */
export function dataFolderOf(context: PartContext): string {
  return join(context.folder, 'data');
}
