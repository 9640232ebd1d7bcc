import type { Caller } from '../base/caller.ts';
import type { YieldToEventLoop } from '../base/event-loop-scheduler.ts';
import type { Language } from '../text/languages.ts';
import { type AnalysedQuery, matchedPlaces, type Places } from '../text/query.ts';
import type { Passage } from './passages.ts';

/** Where the words of a query stand in a passage; each 0..1, words weighted by how rare they are. */
export interface Look {
  /** Share of the query among the first words. */
  readonly lead: number;
  /** Words that follow each other as in the query, the more the fewer of the passages have them so. */
  readonly order: number;
  /** The largest share of the query that stands within a sentence's length. */
  readonly nearness: number;
}

/** How rare the words of a query are in the collection. */
export interface WordCounts {
  /** Of the collection. */
  readonly rows: number;
  /** That hold a word, by group of the query. */
  readonly rowsOf: readonly number[];
}

/** Passages that are looked at; nothing that matters comes behind them. */
export const lookDepth = 100;
/** What the three count beside the fused score, which counts 1 (models/README.md says how they were chosen). */
const weights = { lead: 0.25, order: 0.15, nearness: 0.1 } as const;
const weightOfAll = 1 + weights.lead + weights.order + weights.nearness;

const leadWords = 24;
const nearWords = 20;
/** Words of a query that follow each other may have one between them. */
const stepMax = 2;
/** Rarity of what one passage of a hundred has, about: what has it is as much in order as can be. */
const orderRarityMax = 4;

/** A fused score with what a look adds to it, 0..1; one that was not looked at has nothing to add. */
export function withLook(fused: number, look: Look | null): number {
  const added =
    look === null
      ? 0
      : weights.lead * look.lead + weights.order * look.order + weights.nearness * look.nearness;
  return (fused + added) / weightOfAll;
}

/** Looks at the words of each passage in their order, which the shards do not know. */
export async function lookCloser(
  passages: readonly Passage[],
  query: AnalysedQuery,
  counts: WordCounts,
  { caller, yieldToEventLoop }: { readonly caller: Caller; readonly yieldToEventLoop: YieldToEventLoop },
): Promise<Look[]> {
  const places: Places[] = [];
  for (const [i, { chunk }] of passages.entries()) {
    const turn = i === 0 ? null : yieldToEventLoop();
    if (turn !== null) await turn;
    if (caller.gone) throw caller.signal.reason;
    places.push(matchedPlaces(query, chunk.text, chunk.language as Language | null));
  }
  const rarities = counts.rowsOf.map((found) => rarityOf(found, counts.rows));
  const all = Math.max(
    rarities.reduce((sum, rarity) => sum + rarity, 0),
    Number.EPSILON,
  );
  const steps = places.map(stepsOf);
  const having = new Map<number, number>();
  for (const step of steps) for (const group of step) having.set(group, (having.get(group) ?? 0) + 1);
  const stepsMax = Math.max(1, rarities.length - 1) * orderRarityMax;
  return places.map((each, i) => {
    let order = 0;
    for (const group of steps[i]!) order += rarityOf(having.get(group)!, passages.length);
    return {
      lead: leadOf(each, rarities) / all,
      order: Math.min(1, order / stepsMax),
      nearness: Math.min(1, nearnessOf(each, rarities) / all),
    };
  });
}

/** Inverse document frequency. */
function rarityOf(found: number, rows: number): number {
  const holding = Math.min(found, rows);
  return Math.log(1 + (rows - holding + 0.5) / (holding + 0.5));
}

/** Words of the query, by group, that the next one follows. */
function stepsOf({ groups, positions }: Places): Set<number> {
  const steps = new Set<number>();
  for (let i = 0; i < groups.length; i += 1) {
    for (let j = i + 1; j < groups.length && positions[j]! - positions[i]! <= stepMax; j += 1) {
      if (groups[j] === groups[i]! + 1 && positions[j]! > positions[i]!) steps.add(groups[i]!);
    }
  }
  return steps;
}

function leadOf({ groups, positions }: Places, rarities: readonly number[]): number {
  const seen = new Set<number>();
  for (let i = 0; i < groups.length && positions[i]! < leadWords; i += 1) seen.add(groups[i]!);
  let sum = 0;
  for (const group of seen) sum += rarities[group]!;
  return sum;
}

function nearnessOf({ groups, positions }: Places, rarities: readonly number[]): number {
  const inside = new Map<number, number>();
  let [sum, most, start] = [0, 0, 0];
  for (const [end, group] of groups.entries()) {
    const count = inside.get(group) ?? 0;
    if (count === 0) sum += rarities[group]!;
    inside.set(group, count + 1);
    for (; positions[end]! - positions[start]! >= nearWords; start += 1) {
      const left = groups[start]!;
      const rest = inside.get(left)! - 1;
      inside.set(left, rest);
      if (rest === 0) sum -= rarities[left]!;
    }
    most = Math.max(most, sum);
  }
  return most;
}
