import type { ChildProcess } from 'node:child_process';
import type { TestRandom } from '../storage/test-random.ts';

/** One promise that a part checks. */
export interface Guarantee {
  /** Short and stable: programs that read reports look for it. */
  readonly name: string;
  readonly text: string;
}

/** What a part measured, by name with the unit last: `p99Ms`, `rounds`. */
export type Measurements = Readonly<Record<string, number | string>>;

/** How large a part is run. Null: the part's own default. */
export interface PartSize {
  /** Minutes that each part may take. */
  readonly minutes: number | null;
  readonly rounds: number | null;
  /** A folder of real documents for `hostile`. */
  readonly files: string | null;
  readonly filesMax: number | null;
  readonly mutations: number | null;
}

/** What a part is given: its size, its randomness, and where it reports to. */
export interface PartContext {
  readonly random: TestRandom;
  readonly size: PartSize;
  /** A folder of the part alone, deleted after it. */
  readonly folder: string;
  /** Aborted on Ctrl-C. */
  readonly signal: AbortSignal;
  /** True: plant one fault that the part must find. A check that cannot fail proves nothing. */
  readonly plantsFault: boolean;
  /** Whether the part's time is used up; `defaultMinutes` counts where the command line gives none. */
  isOver(defaultMinutes: number): boolean;
  /** Milliseconds that the part may take in all. */
  millisecondsFor(defaultMinutes: number): number;
  progress(text: string): void;
  /** Records that a guarantee did not hold. */
  violate(guarantee: string, message: string, details?: unknown): void;
  /** Records that a guarantee could not be checked on this machine, and why. */
  skip(guarantee: string, reason: string): void;
  /** Runs at the end of the part in reverse order, also after a failure and on Ctrl-C. */
  onCleanup(action: () => unknown): void;
  /** Ends this process at the latest when the campaign ends. */
  trackProcess(child: ChildProcess): void;
}

/** One part of the campaign. */
export interface Part {
  readonly name: string;
  readonly description: string;
  readonly guarantees: readonly Guarantee[];
  run(context: PartContext): Promise<Measurements>;
}
