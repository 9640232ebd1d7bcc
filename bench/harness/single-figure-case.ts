import type { Figure } from '../report/findings.ts';
import type { BenchCase } from './bench-case.ts';
import type { BenchOptions } from './options.ts';
import { spreadColumns, spreadOf } from './statistics.ts';

/** A case that measures a single figure repeatedly. */
export interface SingleFigureCase extends Pick<BenchCase, 'name' | 'summary'> {
  readonly presets?: BenchCase['presets'];
  /** Description of the measurement, and caveats for the reader: a few sentences each. */
  readonly method: string;
  readonly caveats: string;
  readonly figure: Pick<Figure, 'unit' | 'better'> & { readonly metric: string };
  /** Measures one round. */
  readonly measure: (options: BenchOptions) => number | Promise<number>;
}

export function singleFigureCase({
  method,
  caveats,
  figure,
  measure,
  presets,
  ...named
}: SingleFigureCase): BenchCase {
  const { metric, unit, better } = figure;
  return {
    ...named,
    presets: presets ?? { smoke: '--rounds 2', usual: '--rounds 5', full: '--rounds 9' },
    async run({ options, progress, signal }) {
      const values: number[] = [];
      for (let round = 0; round < options.rounds; round++) {
        signal.throwIfAborted();
        progress.update('measuring', round, options.rounds, `round ${round + 1} of ${options.rounds}`);
        values.push(await measure(options));
      }
      return {
        title: `${named.name}: ${named.summary}`,
        method: [method, `Rounds: ${options.rounds}.`],
        tables: [{ title: metric, columns: spreadColumns(unit, 2), rows: [{ ...spreadOf(values) }] }],
        charts: [],
        notes: [caveats],
        figures: [{ name: `${named.name}: ${metric}`, unit, better, values }],
        measured: values,
      };
    },
  };
}
