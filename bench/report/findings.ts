import type { MachineFacts } from '../harness/machine.ts';

/** A column of the table of results. */
export interface Column {
  readonly key: string;
  readonly heading: string;
  readonly unit: string | null;
  /** Digits after the point. */
  readonly digits: number;
}

/** One row; null is a figure that could not be measured. */
export type Row = Readonly<Record<string, number | null>>;

/** A line of a chart; a null is a gap. */
export interface Series {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** Least and most over repetitions, where they are shown. */
  readonly spread?: readonly ({ readonly least: number; readonly most: number } | null)[];
}

export interface Chart {
  readonly title: string;
  readonly xLabel: string;
  /** Positive and ascending; drawn on a logarithmic axis with these ticks. */
  readonly x: readonly number[];
  /** With its unit. The axis is linear and starts at 0. */
  readonly yLabel: string;
  readonly series: readonly Series[];
}

/** What a case found out, in a form that every report can print. */
export interface Findings {
  readonly title: string;
  /** What was measured and how, one sentence or a few each. */
  readonly method: readonly string[];
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly charts: readonly Chart[];
  /** What a reader has to know to read the figures rightly. */
  readonly notes: readonly string[];
  /** Everything that was measured, round by round; only the JSON holds it. */
  readonly measured: unknown;
}

/** Findings with what belongs to the run rather than to the case. */
export interface Report extends Findings {
  readonly format: 1;
  readonly case: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly command: string;
  readonly options: unknown;
  readonly machine: MachineFacts & { readonly loadAfter: number };
}
