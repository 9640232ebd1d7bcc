import type { ChildProcess } from 'node:child_process';
import type { TestRandom } from '../storage/test-random.ts';

/** Property of the product checked by a part. */
export interface Guarantee {
  /** Short and stable: programs that read reports use it as a key. */
  readonly name: string;
  readonly text: string;
}

/** Measurements of a part, by name with the unit last: `p99Ms`, `rounds`. */
export type Measurements = Readonly<Record<string, number | string>>;

/** Size of a part; null selects the default of the part. */
export interface PartSize {
  /** Maximum duration of each part, in minutes. */
  readonly minutes: number | null;
  readonly rounds: number | null;
  /** Folder of real documents for `hostile`. */
  readonly files: string | null;
  readonly filesMax: number | null;
  readonly mutations: number | null;
}

/** Environment of a part: size, random numbers, and reporting. */
export interface PartContext {
  readonly random: TestRandom;
  readonly size: PartSize;
  /** Folder exclusive to the part, deleted at its end. */
  readonly folder: string;
  /** Aborted on Ctrl-C. */
  readonly signal: AbortSignal;
  /** Whether to plant one fault that the part must detect. A check that cannot fail proves nothing. */
  readonly plantsFault: boolean;
  /** Whether the time of the part is used up; `defaultMinutes` applies if the command line sets no limit. */
  isOver(defaultMinutes: number): boolean;
  /** Total duration of the part, in milliseconds. */
  millisecondsFor(defaultMinutes: number): number;
  progress(text: string): void;
  /** Records the violation of a guarantee. */
  violate(guarantee: string, message: string, details?: unknown): void;
  /** Records that a guarantee could not be checked on this machine, and why. */
  skip(guarantee: string, reason: string): void;
  /** Runs at the end of the part, in reverse order, also after a failure and on Ctrl-C. */
  onCleanup(action: () => unknown): void;
  /** Terminates this process at the end of the campaign at the latest. */
  trackProcess(child: ChildProcess): void;
}

/** Part of the campaign. */
export interface Part {
  readonly name: string;
  readonly description: string;
  readonly guarantees: readonly Guarantee[];
  run(context: PartContext): Promise<Measurements>;
}
