import { type Spread, spreadOf } from '../harness/statistics.ts';
import type { Figure, Report } from './findings.ts';

/** What became of one figure between two runs. */
export interface Change {
  readonly name: string;
  readonly unit: string;
  readonly before: Spread | null;
  readonly after: Spread | null;
  /** Median after / median before. */
  readonly factor: number | null;
  readonly verdict: 'worse' | 'better' | 'same' | 'new' | 'gone';
}

export interface Comparison {
  readonly changes: readonly Change[];
  /** Why the two runs might not be comparable at all. */
  readonly warnings: readonly string[];
  readonly before: { readonly startedAt: string; readonly commit: string | null };
}

/** Differences below this share are noise whatever the rounds say. */
const leastDifference = 0.05;
/** A figure that was measured once says nothing about its noise, so more of it is assumed. */
const leastDifferenceOnce = 0.15;

/** Options that say where to write or how much to repeat, not what is measured. */
const harmlessOptions = new Set(['out', 'keep', 'rounds', 'compare', 'seconds', 'warmUpSeconds']);

/**
 * A figure is worse (or better) when the medians differ by more than the least difference and no round of one run
 * reaches into the rounds of the other: then noise as large as the rounds show does not explain it.
 */
export function compareReports(before: Report, after: Report): Comparison {
  const old = new Map(before.figures.map((figure) => [figure.name, figure]));
  const names = new Set([...old.keys(), ...after.figures.map(({ name }) => name)]);
  const now = new Map(after.figures.map((figure) => [figure.name, figure]));
  return {
    changes: [...names].map((name) => changeOf(name, old.get(name), now.get(name))),
    warnings: warningsOf(before, after),
    before: { startedAt: before.startedAt, commit: before.machine.commit },
  };
}

export function regressions({ changes }: Comparison): readonly Change[] {
  return changes.filter(({ verdict }) => verdict === 'worse');
}

function changeOf(name: string, old: Figure | undefined, now: Figure | undefined): Change {
  const before = old === undefined ? null : spreadOf(old.values);
  const after = now === undefined ? null : spreadOf(now.values);
  const unit = (now ?? old)?.unit ?? '';
  if (old === undefined || now === undefined || before === null || after === null) {
    return { name, unit, before, after, factor: null, verdict: before === null ? 'new' : 'gone' };
  }
  const factor = after.median / before.median;
  return { name, unit, before, after, factor, verdict: verdictOf(old, now, { before, after }) };
}

function verdictOf(
  old: Figure,
  now: Figure,
  { before, after }: { readonly before: Spread; readonly after: Spread },
): Change['verdict'] {
  const once = old.values.length < 2 || now.values.length < 2;
  const needed = once ? leastDifferenceOnce : leastDifference;
  const [low, high] = before.median < after.median ? [before, after] : [after, before];
  const apart = high.least > low.most && high.median > low.median * (1 + needed);
  if (!apart) return 'same';
  const more = after === high;
  return more === (now.better === 'more') ? 'better' : 'worse';
}

function warningsOf(before: Report, after: Report): string[] {
  const facts = ['processor', 'cores', 'memoryBytes', 'node'] as const;
  const machine = facts
    .filter((fact) => before.machine[fact] !== after.machine[fact])
    .map((fact) => `another machine: ${fact} was ${before.machine[fact]} and is ${after.machine[fact]}`);
  const names = new Set([...Object.keys(before.options), ...Object.keys(after.options)]);
  const options = [...names]
    .filter((name) => !harmlessOptions.has(name))
    .filter((name) => JSON.stringify(before.options[name]) !== JSON.stringify(after.options[name]))
    .map(
      (name) =>
        `another setting: ${name} was ${JSON.stringify(before.options[name])} and is ${JSON.stringify(after.options[name])}`,
    );
  const kind = before.case === after.case ? [] : [`another case: ${before.case} and ${after.case}`];
  return [...kind, ...machine, ...options];
}
