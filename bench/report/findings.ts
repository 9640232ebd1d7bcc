import type { MachineFacts } from '../harness/machine.ts';

/** A column of a table of results. */
export interface ReportColumn {
  readonly key: string;
  readonly heading: string;
  readonly unit: string | null;
  /** Digits after the point; of no meaning for words. */
  readonly digits: number;
  /** Key of the digits of a row, where its own differ. */
  readonly digitsKey?: string;
}

/** One row; null is a figure that could not be measured. */
export type ReportRow = Readonly<Record<string, number | string | null>>;

export interface ReportTable {
  readonly title: string;
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly ReportRow[];
}

export interface Axis {
  /** With its unit. A linear y axis starts at 0, a linear x axis at the least value. */
  readonly label: string;
  /** "recall" goes by the logarithm of what is missed: from .9 to .99 is as far as from .99 to .999. */
  readonly scale: 'linear' | 'logarithmic' | 'recall';
  /** Where to draw ticks, with their words; by default round figures. */
  readonly ticks?: readonly { readonly at: number; readonly label: string }[];
}

/** A point of a line; without `y` the line has a gap there. */
export interface Point {
  readonly x: number;
  readonly y: number | null;
  /** Least and most over repetitions, where they are shown. */
  readonly spread?: { readonly least: number; readonly most: number } | null;
}

export interface Series {
  readonly name: string;
  readonly points: readonly Point[];
}

export interface LineChart {
  readonly kind: 'lines';
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
}

export interface BarChart {
  readonly kind: 'bars';
  readonly title: string;
  /** With its unit; the axis is linear and starts at 0. */
  readonly yLabel: string;
  readonly bars: readonly { readonly name: string; readonly value: number | null }[];
}

export type Chart = LineChart | BarChart;

/** One measured quantity that two runs can be compared by. */
export interface Figure {
  /** What was measured of what, the same from run to run: "quarry: searches per second at recall .95". */
  readonly name: string;
  readonly unit: string;
  readonly better: 'more' | 'less';
  /** Round by round; one value where it was measured once. */
  readonly values: readonly number[];
}

/** What a case found out, in a form that every report can print. */
export interface BenchFindings {
  readonly title: string;
  /** What was measured and how, one sentence or a few each. */
  readonly method: readonly string[];
  readonly tables: readonly ReportTable[];
  readonly charts: readonly Chart[];
  /** What a reader has to know to read the figures rightly. */
  readonly notes: readonly string[];
  readonly figures: readonly Figure[];
  /** What the case found in place and measured with: runs that differ in it cannot be compared. */
  readonly conditions?: Readonly<Record<string, string>>;
  /** Things that this run did not measure; names of their figures begin with theirs and a colon. */
  readonly notMeasured?: readonly string[];
  /** Everything that was measured, round by round; only the JSON holds it. */
  readonly measured: unknown;
}

/** Findings with what belongs to the run rather than to the case. */
export interface Report extends BenchFindings {
  readonly format: 2;
  readonly case: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly command: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly machine: MachineFacts & { readonly loadAfter: number };
}
