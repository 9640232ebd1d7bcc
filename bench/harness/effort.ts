import type { EngineKind } from '../engines/vector-engine.ts';

/** An effort with the recall that it reaches. */
export interface Tuned {
  readonly effort: number;
  readonly recall: number;
}

type Efforts = EngineKind['efforts'];
type RecallAt = (effort: number) => Promise<number>;

/** Steps of an effort, small against its effect. */
const growth = 1.6;
/** Nobody needs points beyond it. */
const recallEnough = 0.998;
const precision = 1.04;

/** Recall at rising efforts up to the most, until there is enough of it; an exact engine has one point. */
export async function recallCurve(
  efforts: Efforts,
  recallAt: RecallAt,
  enough = recallEnough,
): Promise<Tuned[]> {
  if (efforts === null) return [{ effort: 1, recall: await recallAt(1) }];
  const curve: Tuned[] = [];
  for (let effort = efforts.least; ; effort = Math.min(Math.ceil(effort * growth), efforts.most)) {
    const recall = await recallAt(effort);
    curve.push({ effort, recall });
    if (recall >= enough || effort === efforts.most) return curve;
  }
}

/** The least effort that reaches the recall, to a few per cent; null when none does. */
export async function effortFor(
  target: number,
  curve: readonly Tuned[],
  efforts: Efforts,
  recallAt: RecallAt,
): Promise<Tuned | null> {
  const first = curve.findIndex(({ recall }) => recall >= target);
  let best = curve[first];
  if (best === undefined) return null;
  let low = curve[first - 1]?.effort;
  if (efforts === null || low === undefined) return best;
  while (best.effort > low + 1 && best.effort / low > precision) {
    const effort = Math.floor((low + best.effort) / 2);
    const recall = await recallAt(effort);
    if (recall >= target) best = { effort, recall };
    else low = effort;
  }
  return best;
}
