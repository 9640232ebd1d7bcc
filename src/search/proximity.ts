import type { CancellationToken } from '../core/async/cancellation-token.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { Language } from '../text/languages.ts';
import { findTermPositions, type LexicalQuery, type TermPositions } from '../text/query.ts';
import type { ChunkHit } from './chunk-hits.ts';

/**
 * Scores for the positions of query words in a chunk; each 0..1, words weighted by inverse document
 * frequency.
 */
export interface ProximityScores {
  /** Share of the query among the first words. */
  readonly lead: number;
  /** Pairs of words that follow each other as in the query; a pair counts more the fewer chunks have it. */
  readonly order: number;
  /** Largest share of the query within a window of about one sentence. */
  readonly nearness: number;
}

/** Frequencies of the query words in the collection. */
export interface TermStatistics {
  /** Number of rows in the collection. */
  readonly rows: number;
  /** Number of rows with each word, by group of the query. */
  readonly rowsByGroup: readonly number[];
}

/** Number of chunks rescored; chunks beyond this rank have no relevant effect. */
export const rescoringDepth = 100;
/** Weights relative to the fused score, which has weight 1 (models/README.md explains how they were chosen). */
const proximityWeights = { lead: 0.25, order: 0.15, nearness: 0.1 } as const;
const totalWeight = 1 + proximityWeights.lead + proximityWeights.order + proximityWeights.nearness;

const leadWords = 24;
const nearnessWindowWords = 20;
/** Maximum distance in words between two consecutive query words: one other word may lie between them. */
const adjacencyMax = 2;
/**
 * Inverse document frequency of a pair in about one of a hundred chunks: the cap per pair, which scales the
 * order score.
 */
const orderIdfMax = 4;

/** Adds the proximity scores to a fused score, 0..1; null for a chunk that was not rescored. */
export function addProximity(fused: number, scores: ProximityScores | null): number {
  const added =
    scores === null
      ? 0
      : proximityWeights.lead * scores.lead +
        proximityWeights.order * scores.order +
        proximityWeights.nearness * scores.nearness;
  return (fused + added) / totalWeight;
}

/** Scores the word order of each chunk, which the shards do not index. */
export async function scoreProximity(
  chunkHits: readonly ChunkHit[],
  query: LexicalQuery,
  statistics: TermStatistics,
  {
    caller,
    yieldToEventLoop,
  }: { readonly caller: CancellationToken; readonly yieldToEventLoop: YieldToEventLoop },
): Promise<ProximityScores[]> {
  const matches: TermPositions[] = [];
  for (const [i, { chunk }] of chunkHits.entries()) {
    const pause = i === 0 ? null : yieldToEventLoop();
    if (pause !== null) await pause;
    if (caller.isCanceled) throw caller.signal.reason;
    matches.push(findTermPositions(query, chunk.text, chunk.language as Language | null));
  }
  const idfs = statistics.rowsByGroup.map((found) => idf(found, statistics.rows));
  const totalIdf = Math.max(
    idfs.reduce((sum, value) => sum + value, 0),
    Number.EPSILON,
  );
  const steps = matches.map(findAdjacentWords);
  const groupFrequencies = new Map<number, number>();
  for (const step of steps)
    for (const group of step) groupFrequencies.set(group, (groupFrequencies.get(group) ?? 0) + 1);
  const stepsMax = Math.max(1, idfs.length - 1) * orderIdfMax;
  return matches.map((match, i) => {
    let order = 0;
    for (const group of steps[i]!) order += idf(groupFrequencies.get(group)!, chunkHits.length);
    return {
      lead: leadScore(match, idfs) / totalIdf,
      order: Math.min(1, order / stepsMax),
      nearness: Math.min(1, nearnessScore(match, idfs) / totalIdf),
    };
  });
}

/** Returns the inverse document frequency. */
function idf(found: number, rows: number): number {
  const rowsWithWord = Math.min(found, rows);
  return Math.log(1 + (rows - rowsWithWord + 0.5) / (rowsWithWord + 0.5));
}

/** Returns the query words, by group, that are followed by the next query word. */
function findAdjacentWords({ groups, positions }: TermPositions): Set<number> {
  const steps = new Set<number>();
  for (let i = 0; i < groups.length; i += 1) {
    for (let j = i + 1; j < groups.length && positions[j]! - positions[i]! <= adjacencyMax; j += 1) {
      if (groups[j] === groups[i]! + 1 && positions[j]! > positions[i]!) steps.add(groups[i]!);
    }
  }
  return steps;
}

function leadScore({ groups, positions }: TermPositions, idfs: readonly number[]): number {
  const seen = new Set<number>();
  for (let i = 0; i < groups.length && positions[i]! < leadWords; i += 1) seen.add(groups[i]!);
  let sum = 0;
  for (const group of seen) sum += idfs[group]!;
  return sum;
}

function nearnessScore({ groups, positions }: TermPositions, idfs: readonly number[]): number {
  const inside = new Map<number, number>();
  let [sum, most, start] = [0, 0, 0];
  for (const [end, group] of groups.entries()) {
    const count = inside.get(group) ?? 0;
    if (count === 0) sum += idfs[group]!;
    inside.set(group, count + 1);
    for (; positions[end]! - positions[start]! >= nearnessWindowWords; start += 1) {
      const left = groups[start]!;
      const rest = inside.get(left)! - 1;
      inside.set(left, rest);
      if (rest === 0) sum -= idfs[left]!;
    }
    most = Math.max(most, sum);
  }
  return most;
}
