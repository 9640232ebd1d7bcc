import type { BenchFindings } from '../report/findings.ts';
import type { BenchOptions, RunSize } from './options.ts';
import type { BenchProgress } from './progress.ts';

/** Input of a case. */
export interface BenchContext {
  readonly options: BenchOptions;
  readonly progress: BenchProgress;
  /** Aborted by SIGINT (Ctrl-C), SIGTERM and --time-limit. */
  readonly signal: AbortSignal;
}

/** A bench case. To add a case, write its file and list it in `main.ts`. */
export interface BenchCase {
  readonly name: string;
  /** One line for the help. */
  readonly summary: string;
  /** Default flags of the case for each run size, in command-line syntax. */
  readonly presets: Readonly<Record<RunSize, string>>;
  /**
   * Runs the case. After an abort of the signal it resolves with the results so far and `complete: false`, or
   * rejects. Errors: rejects if a measurement would be invalid.
   */
  run(context: BenchContext): Promise<BenchFindings>;
}
