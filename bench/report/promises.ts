import { figure } from './figures.ts';
import type { Row, Table } from './findings.ts';

/** Something that was promised, beside what a run found. */
export interface Wanted {
  /** What is meant, with its unit, and of what size where the promise names one. */
  readonly what: string;
  /** Null where the run did not measure it. */
  readonly reached: number | null;
  /** Neither: nothing is promised, the figure is only shown. */
  readonly least?: number;
  readonly most?: number;
  /** See `unmet`: a run that was something else is shown and not judged. */
  readonly promisedFor?: string | null;
}

/** What a promise takes for granted, and whether a run was so. */
export type Condition = readonly [words: string, met: boolean];

/** What the promise is for and the run was not; null where the run was all of it. */
export function unmet(conditions: readonly Condition[]): string | null {
  const missing = conditions.filter(([, met]) => !met).map(([words]) => words);
  return missing.length === 0 ? null : missing.join(', ');
}

/** A figure of one short round says nothing, for or against. */
export function measuredLongEnough(
  options: { readonly rounds: number; readonly seconds: number },
  secondsLeast: number,
): Condition {
  const enough = options.rounds >= roundsLeast && options.seconds >= secondsLeast;
  return [`at least ${roundsLeast} rounds of ${secondsLeast} s`, enough];
}

export const roundsLeast = 3;

/** Of more digits a number has none. */
const digitsMost = 15;

/** The promises of a case, kept or not; at least `digits` after the point of what was reached. */
export function promiseTable(wanted: readonly Wanted[], digits: number): Table {
  return {
    title: 'Reached and wanted',
    columns: [
      { key: 'what', heading: 'what', unit: null, digits: 0 },
      { key: 'reached', heading: 'reached', unit: null, digits, digitsKey: 'reachedDigits' },
      { key: 'wanted', heading: 'wanted', unit: null, digits: 0 },
      { key: 'verdict', heading: 'verdict', unit: null, digits: 0 },
    ],
    rows: wanted.map((one) => rowOf(one, digits)),
  };
}

function rowOf(wanted: Wanted, digits: number): Row {
  const { what, reached, least, most } = wanted;
  if (least === undefined && most === undefined) return { what, reached, wanted: '', verdict: '' };
  return {
    ...{ what, reached, reachedDigits: digitsOf(wanted, digits) },
    wanted: least === undefined ? `<= ${bound(most ?? 0)}` : `>= ${bound(least)}`,
    verdict: verdictOf(wanted),
  };
}

function bound(value: number): number {
  return Number(value.toFixed(3));
}

function isKept(reached: number, { least = reached, most = reached }: Wanted): boolean {
  return reached >= least && reached <= most;
}

function verdictOf(wanted: Wanted): string {
  const { reached, promisedFor = null } = wanted;
  if (reached === null) return 'not measured';
  if (promisedFor !== null) return `not judged: the promise is for ${promisedFor}`;
  return isKept(reached, wanted) ? 'reached' : 'MISSED';
}

/** So many that the figure shown lies on the side of the bound where it is: never "0.01, <= 0.01, MISSED". */
function digitsOf(wanted: Wanted, digits: number): number {
  const { reached } = wanted;
  if (reached === null) return digits;
  const kept = isKept(reached, wanted);
  const shown = (count: number) => Number(figure(reached, count).replaceAll(',', ''));
  let count = digits;
  while (count < digitsMost && isKept(shown(count), wanted) !== kept) count += 1;
  return count;
}
