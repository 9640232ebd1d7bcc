import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';

/** Calls that fail: writes, syncs, and calls that create or rename files. */
export const faultyCallMasks = { write: 1, sync: 2, name: 4, all: 7 } as const;
export type InjectedError = 'EIO' | 'ENOSPC' | 'EROFS';

const controlBytes = 40;
const offsets = { error: 0, perMille: 4, calls: 8, clockMs: 16, injected: 24, advancedMs: 32 } as const;

/** Preloaded library that injects disk faults and clock jumps into a server; built with the local C compiler. */
export class FaultLibrary {
  /** Environment variables for the server. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #control: number;
  #advancedMs = 0;

  private constructor(control: number, variables: Readonly<Record<string, string>>) {
    this.#control = control;
    this.environment = variables;
  }

  /** `folder` holds the files of the library; calls on files below `data` can fail. Throws without a C compiler. */
  static build(folder: string, data: string): FaultLibrary {
    const library = join(folder, 'faults.so');
    const source = join(projectRoot, 'test', 'campaign', 'faults.c');
    execFileSync('cc', [
      '-shared',
      '-fPIC',
      '-O2',
      '-Wall',
      '-Werror',
      '-o',
      library,
      source,
      '-ldl',
      '-pthread',
    ]);
    const path = join(folder, 'faults.control');
    const control = openSync(path, 'w+');
    writeSync(control, Buffer.alloc(controlBytes), 0, controlBytes, 0);
    return new FaultLibrary(control, { LD_PRELOAD: library, FAULTS_CONTROL: path, FAULTS_FOLDER: data });
  }

  /** From now on, `perMille` of 1,000 matching calls fail with `error`. */
  fail(error: InjectedError, { perMille = 1_000, calls = faultyCallMasks.all as number } = {}): void {
    this.#set(offsets.perMille, perMille);
    this.#set(offsets.calls, calls);
    this.#set(offsets.error, constants.errno[error]);
  }

  clearFault(): void {
    this.#set(offsets.error, 0);
  }

  /** Sets the offset of the wall clock from the real time; the monotonic clock does not change. */
  moveClock(milliseconds: number): void {
    this.#setLong(offsets.clockMs, milliseconds);
  }

  /** Advances the monotonic clock, so that hourly timers fire now. */
  advanceTimers(milliseconds: number): void {
    this.#advancedMs += milliseconds;
    this.#setLong(offsets.advancedMs, this.#advancedMs);
  }

  /** Number of calls that have failed so far. */
  get injectedFaults(): number {
    const bytes = Buffer.alloc(8);
    readSync(this.#control, bytes, 0, bytes.length, offsets.injected);
    return Number(bytes.readBigUInt64LE());
  }

  close(): void {
    closeSync(this.#control);
  }

  #setLong(offset: number, value: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(Math.round(value)));
    writeSync(this.#control, bytes, 0, bytes.length, offset);
  }

  #set(offset: number, value: number): void {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32LE(value);
    writeSync(this.#control, bytes, 0, bytes.length, offset);
  }
}
