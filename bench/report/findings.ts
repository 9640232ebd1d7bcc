import type { MachineFacts } from '../harness/machine.ts';

/** Column of a result table. */
export interface ReportColumn {
  readonly key: string;
  readonly heading: string;
  readonly unit: string | null;
  /** Decimal places; ignored for text. */
  readonly digits: number;
  /** Key of the row field with the decimal places of that row, if they differ. */
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
  /** Label with its unit. A linear y axis starts at 0, a linear x axis at the minimum value. */
  readonly label: string;
  /** "recall": logarithmic in 1 - recall; the distance from .9 to .99 equals that from .99 to .999. */
  readonly scale: 'linear' | 'logarithmic' | 'recall';
  /** Positions and labels of ticks; default: round numbers. */
  readonly ticks?: readonly { readonly at: number; readonly label: string }[];
}

/** Point of a line; null `y` makes a gap. */
export interface Point {
  readonly x: number;
  readonly y: number | null;
  /** Minimum and maximum over repetitions, if shown. */
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
  /** Label with its unit; the axis is linear and starts at 0. */
  readonly yLabel: string;
  readonly bars: readonly { readonly name: string; readonly value: number | null }[];
}

export type Chart = LineChart | BarChart;

/** A measured quantity by which two runs can be compared. */
export interface Figure {
  /** Stable name of subject and quantity: "quarry: searches per second at recall .95". */
  readonly name: string;
  readonly unit: string;
  readonly better: 'more' | 'less';
  /** One value per round; a single value if measured once. */
  readonly values: readonly number[];
}

/** Results of a case, independent of the report format. */
export interface BenchFindings {
  readonly title: string;
  /** Description of the measurement, one or a few sentences each. */
  readonly method: readonly string[];
  readonly tables: readonly ReportTable[];
  readonly charts: readonly Chart[];
  /** False if the run was interrupted, so that some figures are missing or of fewer rounds. */
  readonly complete?: boolean;
  /** Information required to interpret the figures. */
  readonly notes: readonly string[];
  readonly figures: readonly Figure[];
  /** Conditions found by the case; runs that differ in them are not comparable. */
  readonly conditions?: Readonly<Record<string, string>>;
  /** Subjects that this run did not measure; names of their figures start with the subject and a colon. */
  readonly notMeasured?: readonly string[];
  /** All measurements, round by round; only included in the JSON report. */
  readonly measured: unknown;
}

/** Findings with the data of the run. */
export interface Report extends BenchFindings {
  readonly format: 2;
  readonly case: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly command: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly machine: MachineFacts & { readonly loadAfter: number };
}
