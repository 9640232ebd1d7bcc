import { filters } from '../vectors/tags.ts';
import type { BenchContext } from './bench-case.ts';
import type { RunningEngine } from './engine-measurement.ts';
import { bestPoint, findEf, measureRecallCurve, type TunedEf } from './recall-tuning.ts';

/** Recalls at which engines are compared. */
export const recallTargets = [0.95, 0.99] as const;
/** Target recall with a filter; the nearest reachable recall is used if an engine does not reach it. */
const filteredRecall = 0.99;
const concurrentSearches = 16;

/**
 * A configuration measured in every round: an ef, with or without a filter, with one search in flight or
 * several.
 */
export interface Mode {
  readonly name: string;
  readonly ef: number;
  readonly recall: number;
  /** Results per search. */
  readonly count: number;
  readonly filter: number | null;
  readonly inFlight: number;
  readonly isReplacing: boolean;
  /** Whether the mode is measured after all others, because replacing rows alters the index. */
  readonly isLast: boolean;
}

/** Returns the end of the names of modes with `count` results; empty for the first of several counts. */
export function countSuffix(count: number, counts: readonly number[]): string {
  return count === counts[0] ? '' : `, k ${count}`;
}

interface EngineTuning {
  readonly curve: readonly TunedEf[];
  readonly baseline: TunedEf | null;
  readonly modes: readonly Mode[];
}

type EngineToTune = Pick<RunningEngine, 'kind' | 'process' | 'opened'>;

/** Finds the efs that reach the target recalls, and derives the modes of the selected phases. */
export async function tuneEngine(engine: EngineToTune, context: BenchContext): Promise<EngineTuning> {
  const { resultCounts, phases } = context.options;
  const needsCurve = phases.some((phase) => phase === 'curve' || phase === 'replace' || phase === 'insert');
  let curve: readonly TunedEf[] = [];
  let baseline: TunedEf | null = null;
  const modes: Mode[] = [];
  for (const [i, count] of resultCounts.entries()) {
    if (needsCurve && (i === 0 || phases.includes('curve'))) {
      const tuned = await tuneCurve(engine, count, context);
      modes.push(...tuned.modes);
      if (i === 0) ({ curve, baseline } = tuned);
    }
    if (phases.includes('filters')) modes.push(...(await tuneFilters(engine, count, context)));
  }
  return { curve, baseline, modes };
}

function recallWith(
  { process }: EngineToTune,
  { count, filter }: { readonly count: number; readonly filter: number | null },
  signal: AbortSignal,
): (ef: number) => Promise<number> {
  return (ef) => {
    signal.throwIfAborted();
    return process.call('recall', { ef, filter, count });
  };
}

async function tuneCurve(
  engine: EngineToTune,
  count: number,
  { options, progress, signal }: BenchContext,
): Promise<EngineTuning> {
  const { kind, opened } = engine;
  const { phases, resultCounts } = options;
  const suffix = countSuffix(count, resultCounts);
  const recallAt = recallWith(engine, { count, filter: null }, signal);
  progress.update('finding ef', 0, 1 + recallTargets.length, `of ${kind.name}: recall curve${suffix}`);
  const inFlight = kind.synchronous ? 1 : concurrentSearches;
  const curve = await measureRecallCurve(kind.efRange, recallAt);
  const base = { count, filter: null, inFlight, isReplacing: false, isLast: false };
  const modes: Mode[] = phases.includes('curve')
    ? curve.map((tuned) => ({ ...base, ...tuned, name: `ef ${tuned.ef}${suffix}` }))
    : [];
  let baseline: TunedEf | null = null;
  for (const [i, target] of recallTargets.entries()) {
    if (i > 0 && !phases.includes('curve')) break;
    progress.update('finding ef', i + 1, 1 + recallTargets.length, `of ${kind.name}: recall ${target}`);
    const tuned = await findEf(target, curve, kind.efRange, recallAt);
    if (i === 0) baseline = tuned;
    if (tuned === null) continue;
    const name = `recall ${target}${suffix}`;
    if (phases.includes('curve')) {
      modes.push({ ...base, ...tuned, name });
      if (!kind.synchronous) modes.push({ ...base, ...tuned, name: `${name}, one at a time`, inFlight: 1 });
    }
    const inserts = phases.includes('insert') && opened.capabilities.replace && !kind.synchronous;
    if (!inserts || i > 0 || suffix !== '') continue;
    const last = { ...base, ...tuned, inFlight: 1, isLast: true };
    modes.push({ ...last, name: `${name}, not inserting` });
    modes.push({ ...last, name: `${name}, while inserting`, isReplacing: true });
  }
  return { curve, baseline, modes };
}

async function tuneFilters(
  engine: EngineToTune,
  count: number,
  { options, progress, signal }: BenchContext,
): Promise<Mode[]> {
  const { kind } = engine;
  if (!kind.filters) return [];
  const suffix = countSuffix(count, options.resultCounts);
  const modes: Mode[] = [];
  for (const [filter, { name }] of filters.entries()) {
    progress.update('finding ef', filter, filters.length, `of ${kind.name}: filter ${name}${suffix}`);
    const recallAt = recallWith(engine, { count, filter }, signal);
    const curve = await measureRecallCurve(kind.efRange, recallAt, filteredRecall);
    const tuned = (await findEf(filteredRecall, curve, kind.efRange, recallAt)) ?? bestPoint(curve);
    const inFlight = kind.synchronous ? 1 : concurrentSearches;
    const base = { count, filter, inFlight, isReplacing: false, isLast: false };
    modes.push({ ...base, ...tuned, name: `filter ${name}${suffix}` });
  }
  return modes;
}
