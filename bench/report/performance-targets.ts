import type { ReportRow, ReportTable } from './findings.ts';
import { formatNumber } from './format-number.ts';

/** A performance target with the value measured in a run. */
export interface PerformanceTarget {
  /** Quantity with its unit, and the setup if the target names one. */
  readonly metric: string;
  /** Measured value; null if the run did not measure it. */
  readonly reached: number | null;
  /** Minimum; with neither `least` nor `most` the value is only shown. */
  readonly least?: number;
  readonly most?: number;
  /** Result of `listUnmetConditions`; if not null, the value is shown but not judged. */
  readonly unmetConditions?: string | null;
}

/** Condition of a target, and whether the run met it. */
export type TargetCondition = readonly [words: string, met: boolean];

/** Returns the conditions that the run did not meet; null if it met all. */
export function listUnmetConditions(conditions: readonly TargetCondition[]): string | null {
  const missing = conditions.filter(([, met]) => !met).map(([words]) => words);
  return missing.length === 0 ? null : missing.join(', ');
}

/** Condition of sufficient rounds and seconds, because a single short round is not significant. */
export function isMeasuredLongEnough(
  options: { readonly rounds: number; readonly seconds: number },
  secondsMin: number,
): TargetCondition {
  const enough = options.rounds >= roundsMin && options.seconds >= secondsMin;
  return [`at least ${roundsMin} rounds of ${secondsMin} s`, enough];
}

export const roundsMin = 3;

/** Decimal places beyond the precision of a double are meaningless. */
const digitsMax = 15;

/** Returns the targets of a case with their results; measured values have at least `digits` decimal places. */
export function targetTable(targets: readonly PerformanceTarget[], digits: number): ReportTable {
  return {
    title: 'Targets',
    columns: [
      { key: 'metric', heading: 'metric', unit: null, digits: 0 },
      { key: 'reached', heading: 'measured', unit: null, digits, digitsKey: 'reachedDigits' },
      { key: 'wanted', heading: 'target', unit: null, digits: 0 },
      { key: 'verdict', heading: 'verdict', unit: null, digits: 0 },
    ],
    rows: targets.map((one) => rowOf(one, digits)),
  };
}

function rowOf(target: PerformanceTarget, digits: number): ReportRow {
  const { metric, reached, least, most } = target;
  if (least === undefined && most === undefined) return { metric, reached, wanted: '', verdict: '' };
  return {
    metric,
    reached,
    reachedDigits: digitsOf(target, digits),
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
  if (unmetConditions !== null) return `not judged: the target is for ${unmetConditions}`;
  return isReached(reached, target) ? 'reached' : 'MISSED';
}

/**
 * Returns enough decimal places for the displayed value to be on the correct side of the bound: never "0.01,
 * <= 0.01, MISSED".
 */
function digitsOf(target: PerformanceTarget, digits: number): number {
  const { reached } = target;
  if (reached === null) return digits;
  const isTargetReached = isReached(reached, target);
  const shown = (count: number) => Number(formatNumber(reached, count).replaceAll(',', ''));
  let count = digits;
  while (count < digitsMax && isReached(shown(count), target) !== isTargetReached) count += 1;
  return count;
}
