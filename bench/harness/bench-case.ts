import type { BenchFindings } from '../report/findings.ts';
import type { BenchOptions, RunSize } from './options.ts';
import type { BenchProgress } from './progress.ts';

/** What a case is handed when it runs. */
export interface BenchContext {
  readonly options: BenchOptions;
  readonly progress: BenchProgress;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** One question that the bench can answer. To add a case, write its file and list it in `main.ts`. */
export interface BenchCase {
  readonly name: string;
  /** One line for the help. */
  readonly summary: string;
  /** Flags that the case sets by itself, in words of the command line, for each size. */
  readonly presets: Readonly<Record<RunSize, string>>;
  /** Rejects when a measurement would not mean what it says. */
  run(context: BenchContext): Promise<BenchFindings>;
}
