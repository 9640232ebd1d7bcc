import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { FaultLibrary, faultyCallMasks, type InjectedError } from './fault-library.ts';
import { dataFolderOf, ModelRun } from './model-run.ts';
import type { Measurements, Part, PartContext } from './part.ts';

const defaultMinutes = 5;
const recoveryMsMax = 60_000;
const blockBytes = 1_048_576;

/** State of the disk in a round. */
const faults = ['EIO', 'ENOSPC', 'EROFS', 'full'] as const;
type Fault = (typeof faults)[number];

/** Full, read-only and failing disks under random writes. */
export const diskPart: Part = {
  name: 'disk',
  description: 'full disk, read-only disk and I/O errors at random moments, some followed by kill -9',
  guarantees: [
    { name: 'acknowledged', text: 'no acknowledged write is lost' },
    { name: 'survives', text: 'the server survives faults of its disk' },
    { name: 'recovers', text: 'writes are accepted again without a restart when the disk has recovered' },
  ],
  async run(context) {
    const data = dataFolderOf(context);
    mkdirSync(data);
    const isMounted = mountSmallDisk(context, data);
    const library = libraryOrReason(context, data);
    if (typeof library === 'string') {
      for (const { name } of diskPart.guarantees) context.skip(name, library);
      return {};
    }
    context.onCleanup(() => library.close());
    return new DiskFaultRun(context, { data, library, isMounted }).run();
  },
};

/** Mounts a small file system that the part can fill. Only root can; returns false otherwise. */
function mountSmallDisk(context: PartContext, data: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512m', 'tmpfs', data], { stdio: 'ignore' });
  } catch {
    // The other faults work without the mount.
    return false;
  }
  context.onCleanup(() => execFileSync('umount', ['-l', data]));
  return true;
}

function libraryOrReason(context: PartContext, data: string): FaultLibrary | string {
  if (process.platform !== 'linux') return 'injecting faults requires Linux';
  try {
    return FaultLibrary.build(context.folder, data);
  } catch (error) {
    return `the fault library cannot be built: ${(error as Error).message}`;
  }
}

class DiskFaultRun {
  readonly #context: PartContext;
  readonly #library: FaultLibrary;
  readonly #modelRun: ModelRun;
  readonly #ballastFile: string;
  readonly #faults: readonly Fault[];
  readonly #counts = new Map<string, number>();
  #rounds = 0;
  #slowestRecoveryMs = 0;

  constructor(
    context: PartContext,
    { data, library, isMounted }: { data: string; library: FaultLibrary; isMounted: boolean },
  ) {
    this.#context = context;
    this.#library = library;
    this.#ballastFile = join(data, 'ballast');
    this.#faults = isMounted ? faults : faults.filter((fault) => fault !== 'full');
    // The data directory is one level below the mount, so that the ballast file is outside of it.
    const variables = library.environment;
    this.#modelRun = new ModelRun(context, {
      guarantee: 'acknowledged',
      data: join(data, 'quarry'),
      variables,
    });
  }

  async run(): Promise<Measurements> {
    const { size, signal } = this.#context;
    await this.#modelRun.start();
    let isFaultPlanted = !this.#context.plantsFault;
    const isDone = () => {
      if (signal.aborted || (size.rounds !== null && this.#rounds >= size.rounds)) return true;
      // At least one round must run, or the part checks nothing.
      const isBounded = size.rounds === null || size.minutes !== null;
      return this.#rounds > 0 && isBounded && this.#context.isOver(defaultMinutes);
    };
    while (!(isDone() && isFaultPlanted) && !signal.aborted) {
      await this.#round();
      isFaultPlanted ||= await this.#modelRun.loseDocument();
      await this.#modelRun.checkAgainstModel();
      this.#context.progress(
        `round ${this.#rounds}, ${this.#modelRun.model.acknowledged} writes acknowledged`,
      );
    }
    return {
      rounds: this.#rounds,
      acknowledgedWrites: this.#modelRun.model.acknowledged,
      injectedErrors: this.#library.injectedFaults,
      restarts: this.#modelRun.starts - 1,
      slowestRecoveryMs: Math.round(this.#slowestRecoveryMs),
      ...Object.fromEntries(this.#counts),
    };
  }

  async #round(): Promise<void> {
    const { random } = this.#context;
    this.#rounds += 1;
    const fault = this.#faults[random.below(this.#faults.length)]!;
    const isKilled = random.below(4) === 0;
    const description = isKilled ? `rounds ${fault} and kill` : `rounds ${fault}`;
    this.#counts.set(description, (this.#counts.get(description) ?? 0) + 1);
    await this.#modelRun.workFor(200 + random.below(400));
    this.#modelRun.model.mayFail = true;
    this.#modelRun.startWork();
    this.#injectFault(fault);
    await wait(200 + random.below(1_300));
    if (isKilled) await this.#modelRun.kill();
    this.#clearFault();
    if (isKilled) {
      await this.#modelRun.stopWork();
      await this.#modelRun.start();
    } else await this.#recover(fault);
    this.#modelRun.model.mayFail = false;
  }

  #injectFault(fault: Fault): void {
    const { random } = this.#context;
    if (fault === 'full') {
      fillDisk(this.#ballastFile);
      return;
    }
    const perMille = [1_000, 1_000, 300, 30][random.below(4)]!;
    const calls = [faultyCallMasks.all, faultyCallMasks.all, faultyCallMasks.write, faultyCallMasks.sync][
      random.below(4)
    ]!;
    this.#library.fail(fault satisfies InjectedError, { perMille, calls });
  }

  #clearFault(): void {
    this.#library.clearFault();
    rmSync(this.#ballastFile, { force: true });
  }

  /** The disk works again: the same process must accept writes. */
  async #recover(fault: Fault): Promise<void> {
    const { server } = this.#modelRun;
    const started = performance.now();
    const name = `recovery ${this.#rounds}`;
    for (;;) {
      const status = await statusOrNull(() =>
        server.call('collections/add-collection', { collection_name: name }),
      );
      if (status === 201 || status === 409) break;
      const isAlive = isProcessAlive(server.pid);
      if (!isAlive)
        this.#context.violate('survives', `the server ended after ${fault}`, server.log.slice(-3_000));
      else if (performance.now() - started > recoveryMsMax)
        this.#context.violate('recovers', `${fault}: still ${status} after ${recoveryMsMax} ms`, {
          log: server.log.slice(-3_000),
        });
      if (!isAlive || performance.now() - started > recoveryMsMax) return this.#restart();
      await wait(50);
    }
    this.#slowestRecoveryMs = Math.max(this.#slowestRecoveryMs, performance.now() - started);
    await this.#modelRun.stopWork();
    await server.call('collections/delete-collection', { collection_name: name });
  }

  async #restart(): Promise<void> {
    await this.#modelRun.kill();
    await this.#modelRun.stopWork();
    await this.#modelRun.start();
    const name = `recovery ${this.#rounds}`;
    await this.#modelRun.server.call('collections/delete-collection', { collection_name: name });
  }
}

function fillDisk(path: string): void {
  const block = Buffer.alloc(blockBytes, 1);
  const file = openSync(path, 'w');
  try {
    for (;;) writeSync(file, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
}

/** Status of the reply; null if the call failed. */
async function statusOrNull(call: () => Promise<{ readonly status: number }>): Promise<number | null> {
  try {
    return (await call()).status;
  } catch {
    return null;
  }
}

function isProcessAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
