import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Check } from '../crash/check.ts';
import type { Findings } from '../crash/findings.ts';
import { ServerProcess } from '../crash/server.ts';
import { World } from '../crash/world.ts';
import type { PartContext } from './part.ts';

const workers = 6;

/** One server under random work, next to a model of all that it acknowledged. */
export class WorldRun {
  readonly world: World;
  readonly data: string;
  readonly #context: PartContext;
  readonly #findings: Findings;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #addresses = new Map<string, string>();
  #server: ServerProcess | null = null;
  #isStopped = true;
  #working: Promise<unknown> = Promise.resolve();
  starts = 0;

  /** `guarantee`: what every disagreement of server and model violates. */
  constructor(
    context: PartContext,
    options: { guarantee: string; data: string; variables: Readonly<Record<string, string>> },
  ) {
    const { guarantee } = options;
    this.#context = context;
    this.#variables = options.variables;
    this.data = options.data;
    this.world = new World(context.random);
    this.#findings = {
      fail: (message, details) => context.violate(guarantee, message, details),
      same: (found, wanted, message) => {
        if (!isDeepStrictEqual(found, wanted)) context.violate(guarantee, message, { found, wanted });
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
      onSpawn: (child) => this.#context.ownProcess(child),
    });
  }

  async kill(): Promise<void> {
    await this.#server?.kill();
    this.#server = null;
  }

  /** Starts the random work; `rest` ends it. */
  work(): void {
    const { server } = this;
    this.#isStopped = false;
    const isStopped = () => this.#isStopped;
    this.#working = Promise.all(Array.from({ length: workers }, () => this.world.work(server, isStopped)));
    // A failure is told by `rest`, which may come much later.
    this.#working.catch(() => undefined);
  }

  async rest(): Promise<void> {
    this.#isStopped = true;
    await this.#working;
  }

  /** Works for so long. */
  async workFor(milliseconds: number): Promise<void> {
    this.work();
    await wait(milliseconds);
    await this.rest();
  }

  /** Compares the server with everything that it acknowledged. */
  async check(): Promise<void> {
    const { server, world } = this;
    const parts = { t: this.#findings, server, world, chance: this.#context.random };
    await new Check({ ...parts, addresses: this.#addresses }).all();
  }

  /** Deletes a document of which the model knows that it exists; false: there is none yet. */
  async loseOne(): Promise<boolean> {
    return loseOne(this.server, this.world);
  }
}

/** Makes a server differ from its model, as the loss of an acknowledged write would. */
export async function loseOne(server: ServerProcess, world: World): Promise<boolean> {
  for (const folder of world.folders.values()) {
    for (const [path, states] of folder.paths) {
      if (states.length > 1 || (states[0] ?? null) === null || folder.exists.length > 1) continue;
      await server.call('documents/delete-document', { collection_name: folder.name, path });
      return true;
    }
  }
  return false;
}

/** The folder of data of a part that has one server. */
export function dataFolder(context: PartContext): string {
  return join(context.folder, 'data');
}
