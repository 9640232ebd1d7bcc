import { type Spread, spreadOf } from '../harness/statistics.ts';
import type { Figure, Report } from './findings.ts';

/** Change of one figure between two runs. */
export interface FigureChange {
  readonly name: string;
  readonly unit: string;
  readonly before: Spread | null;
  readonly after: Spread | null;
  /** Median after / median before. */
  readonly factor: number | null;
  /** "lost": measured before, but failed now although its subject was measured. */
  readonly verdict: 'worse' | 'lost' | 'not measured' | 'better' | 'same' | 'new';
}

export interface Comparison {
  readonly changes: readonly FigureChange[];
  /** Reasons why the two runs may not be comparable. */
  readonly warnings: readonly string[];
  readonly before: { readonly startedAt: string; readonly commit: string | null };
}

/** Relative differences below this value count as noise, regardless of the rounds. */
const minDifference = 0.05;
/** Threshold for a figure that was measured once, because its noise is unknown. */
const minDifferenceOnce = 0.15;
/**
 * Thresholds of quality figures by unit. Quality hardly depends on the machine, so that smaller differences
 * are significant.
 */
const minDifferenceOfQuality: Readonly<Record<string, number>> = { share: 0.01, nDCG: 0.01, '%': 1 };

/** Options that define output or repetitions, but not what is measured. */
const harmlessOptions = new Set([
  'out',
  'keep',
  'rounds',
  'compare',
  'seconds',
  'warmUpSeconds',
  'secondsMax',
]);

/**
 * Compares two runs. A figure is worse (or better) if the medians differ by more than the minimum difference
 * and the ranges of the rounds do not overlap, so that noise does not explain the difference. A figure
 * missing in the new run is lost, unless the run declares its subject as not measured.
 */
export function compareReports(before: Report, after: Report): Comparison {
  const old = new Map(before.figures.map((figure) => [figure.name, figure]));
  const names = new Set([...old.keys(), ...after.figures.map(({ name }) => name)]);
  const now = new Map(after.figures.map((figure) => [figure.name, figure]));
  return {
    changes: [...names].map((name) =>
      changeOf(name, old.get(name), now.get(name), isMeasured(name, after) ? 'lost' : 'not measured'),
    ),
    warnings: warningsOf(before, after),
    before: { startedAt: before.startedAt, commit: before.machine.commit },
  };
}

export function findRegressions({ changes }: Comparison): readonly FigureChange[] {
  return changes.filter(({ verdict }) => verdict === 'worse' || verdict === 'lost');
}

function isMeasured(figure: string, { notMeasured = [], complete = true }: Report): boolean {
  return complete && !notMeasured.some((name) => figure.startsWith(`${name}:`));
}

function changeOf(
  name: string,
  old: Figure | undefined,
  now: Figure | undefined,
  ifMissing: 'lost' | 'not measured',
): FigureChange {
  const before = old === undefined ? null : spreadOf(old.values);
  const after = now === undefined ? null : spreadOf(now.values);
  const unit = (now ?? old)?.unit ?? '';
  if (old === undefined || now === undefined || before === null || after === null) {
    return { name, unit, before, after, factor: null, verdict: before === null ? 'new' : ifMissing };
  }
  const factor = after.median / before.median;
  return { name, unit, before, after, factor, verdict: verdictOf(old, now, { before, after }) };
}

function verdictOf(
  old: Figure,
  now: Figure,
  { before, after }: { readonly before: Spread; readonly after: Spread },
): FigureChange['verdict'] {
  const [low, high] = before.median < after.median ? [before, after] : [after, before];
  const once = old.values.length < 2 || now.values.length < 2;
  const needed = minDifferenceOfQuality[now.unit] ?? low.median * (once ? minDifferenceOnce : minDifference);
  const isDisjoint = high.least > low.most && high.median - low.median > needed;
  if (!isDisjoint) return 'same';
  const more = after === high;
  return more === (now.better === 'more') ? 'better' : 'worse';
}

function warningsOf(before: Report, after: Report): string[] {
  const kind = before.case === after.case ? [] : [`different cases: ${before.case} and ${after.case}`];
  const facts = [
    'processor',
    'processorModel',
    'cores',
    'memoryBytes',
    'instructions',
    'kernels',
    'node',
  ] as const;
  const machine = facts
    // A fact missing in an older report is not a difference.
    .filter((fact) => before.machine[fact] !== undefined && after.machine[fact] !== undefined)
    .flatMap((fact) => differenceOf(`machine: ${fact}`, before.machine[fact], after.machine[fact]));
  const options = namesOf(before.options, after.options)
    // An option that an older report lacks is not a difference.
    .filter((name) => name in before.options && name in after.options && !harmlessOptions.has(name))
    .flatMap((name) => differenceOf(`setting: ${name}`, before.options[name], after.options[name]));
  const [then, now] = [before.conditions ?? {}, after.conditions ?? {}];
  const conditions = namesOf(then, now).flatMap((name) =>
    differenceOf(name, then[name] ?? 'unknown', now[name] ?? 'unknown'),
  );
  const old = before.figures.map(({ name }) => name);
  const missing = (after.notMeasured ?? [])
    .filter((name) => old.some((figure) => figure.startsWith(`${name}:`)))
    .map((name) => `not measured in the new run: ${name}`);
  const incomplete = [before, after]
    .filter(({ complete }) => complete === false)
    .map(({ startedAt }) => `the run of ${startedAt} was interrupted`);
  return [...incomplete, ...kind, ...machine, ...options, ...conditions, ...missing];
}

function namesOf(...parts: readonly object[]): string[] {
  return [...new Set(parts.flatMap((part) => Object.keys(part)))];
}

function differenceOf(name: string, before: unknown, after: unknown): string[] {
  const [then, now] = [before, after].map((value) =>
    typeof value === 'string' ? value : JSON.stringify(value),
  );
  return then === now ? [] : [`${name} differs: was ${then}, is ${now}`];
}
