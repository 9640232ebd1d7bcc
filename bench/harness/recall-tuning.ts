import { assertDefined } from '../../src/core/assert.ts';
import type { EngineKind } from '../engines/vector-engine.ts';

/** An ef with the recall that it reaches. */
export interface TunedEf {
  readonly ef: number;
  readonly recall: number;
}

type EfRange = EngineKind['efRange'];
type RecallAt = (ef: number) => Promise<number>;

/** Growth factor of ef between points of the curve. */
const efGrowth = 1.6;
/** Recall at which a curve ends. */
const recallTargetDefault = 0.998;
const efPrecision = 1.04;

/**
 * Measures recall at increasing efs up to the maximum, until `recallTarget` is reached; an exact engine has
 * one point.
 */
export async function measureRecallCurve(
  efRange: EfRange,
  recallAt: RecallAt,
  recallTarget = recallTargetDefault,
): Promise<TunedEf[]> {
  if (efRange === null) return [{ ef: 1, recall: await recallAt(1) }];
  const curve: TunedEf[] = [];
  for (let ef = efRange.min; ; ef = Math.min(Math.ceil(ef * efGrowth), efRange.max)) {
    const recall = await recallAt(ef);
    curve.push({ ef, recall });
    if (recall >= recallTarget || ef === efRange.max) return curve;
  }
}

/** Returns the lowest ef that reaches the recall, accurate to a few percent; null if none does. */
export async function findEf(
  target: number,
  curve: readonly TunedEf[],
  efRange: EfRange,
  recallAt: RecallAt,
): Promise<TunedEf | null> {
  const first = curve.findIndex(({ recall }) => recall >= target);
  let best = curve[first];
  if (best === undefined) return null;
  let low = curve[first - 1]?.ef;
  if (efRange === null || low === undefined) return best;
  while (best.ef > low + 1 && best.ef / low > efPrecision) {
    const ef = Math.floor((low + best.ef) / 2);
    const recall = await recallAt(ef);
    if (recall >= target) best = { ef, recall };
    else low = ef;
  }
  return best;
}

/** Returns the point of a curve with the highest recall; among equals, the one with the lowest ef. */
export function bestPoint(curve: readonly TunedEf[]): TunedEf {
  return assertDefined(curve.toSorted((a, b) => b.recall - a.recall)[0], 'a curve has points');
}
