import type { ReportRow, ReportTable } from './findings.ts';
import { formatNumber } from './format-number.ts';

/** Something that was promised, beside what a run found. */
export interface PerformanceTarget {
  /** What is meant, with its unit, and of what size where the promise names one. */
  readonly what: string;
  /** Null where the run did not measure it. */
  readonly reached: number | null;
  /** Neither: nothing is promised, the figure is only shown. */
  readonly least?: number;
  readonly most?: number;
  /** See `unmet`: a run that was something else is shown and not judged. */
  readonly unmetConditions?: string | null;
}

/** What a promise takes for granted, and whether a run was so. */
export type TargetCondition = readonly [words: string, met: boolean];

/** What the promise is for and the run was not; null where the run was all of it. */
export function listUnmetConditions(conditions: readonly TargetCondition[]): string | null {
  const missing = conditions.filter(([, met]) => !met).map(([words]) => words);
  return missing.length === 0 ? null : missing.join(', ');
}

/** A figure of one short round says nothing, for or against. */
export function isMeasuredLongEnough(
  options: { readonly rounds: number; readonly seconds: number },
  secondsMin: number,
): TargetCondition {
  const enough = options.rounds >= roundsMin && options.seconds >= secondsMin;
  return [`at least ${roundsMin} rounds of ${secondsMin} s`, enough];
}

export const roundsMin = 3;

/** Of more digits a number has none. */
const digitsMax = 15;

/** The promises of a case, kept or not; at least `digits` after the point of what was reached. */
export function targetTable(targets: readonly PerformanceTarget[], digits: number): ReportTable {
  return {
    title: 'Reached and wanted',
    columns: [
      { key: 'what', heading: 'what', unit: null, digits: 0 },
      { key: 'reached', heading: 'reached', unit: null, digits, digitsKey: 'reachedDigits' },
      { key: 'wanted', heading: 'wanted', unit: null, digits: 0 },
      { key: 'verdict', heading: 'verdict', unit: null, digits: 0 },
    ],
    rows: targets.map((one) => rowOf(one, digits)),
  };
}

function rowOf(target: PerformanceTarget, digits: number): ReportRow {
  const { what, reached, least, most } = target;
  if (least === undefined && most === undefined) return { what, reached, wanted: '', verdict: '' };
  return {
    ...{ what, reached, reachedDigits: digitsOf(target, digits) },
    wanted: least === undefined ? `<= ${roundBound(most ?? 0)}` : `>= ${roundBound(least)}`,
    verdict: verdictOf(target),
  };
}

function roundBound(value: number): number {
  return Number(value.toFixed(3));
}

function isReached(reached: number, { least = reached, most = reached }: PerformanceTarget): boolean {
  return reached >= least && reached <= most;
}

function verdictOf(target: PerformanceTarget): string {
  const { reached, unmetConditions = null } = target;
  if (reached === null) return 'not measured';
  if (unmetConditions !== null) return `not judged: the promise is for ${unmetConditions}`;
  return isReached(reached, target) ? 'reached' : 'MISSED';
}

/** So many that the figure shown lies on the side of the bound where it is: never "0.01, <= 0.01, MISSED". */
function digitsOf(target: PerformanceTarget, digits: number): number {
  const { reached } = target;
  if (reached === null) return digits;
  const isTargetReached = isReached(reached, target);
  const shown = (count: number) => Number(formatNumber(reached, count).replaceAll(',', ''));
  let count = digits;
  while (count < digitsMax && isReached(shown(count), target) !== isTargetReached) count += 1;
  return count;
}
