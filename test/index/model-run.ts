import { type CheckedAnswer, usesGraph } from './expected-result.ts';
import { IndexModel, type ModelScale } from './index-model.ts';
import { openIndex, seededRandom } from './samples.ts';

/** All strategies for finding the nearest rows of a shard. */
export const searchStrategies = ['scan', 'filtered-scan', 'graph', 'filtered-graph'];
/**
 * Minimum mean recall of a run. For graph searches the engine aims at 0.99, with an estimated ef until the collection is
 * calibrated; a scan loses rows that the quantized codes cannot distinguish.
 */
export const recallMin = { graph: 0.9, scan: 0.98 };

/** Statistics of a run of changes and queries. */
interface ModelRunResult {
  /** First difference from the model; null if there is none. */
  readonly wrong: string | null;
  /** Number of queries in which some shard used a strategy, by strategy. */
  readonly strategyCounts: ReadonlyMap<string, number>;
  /** Mean recall of queries for the nearest rows alone: of those that searched a graph, and of the others. */
  readonly recall: { readonly walked: number; readonly scanned: number };
}

class RunStatistics implements ModelRunResult {
  wrong: string | null = null;
  readonly strategyCounts = new Map<string, number>();
  readonly #recalls = { walked: [] as number[], scanned: [] as number[] };

  add({ problem: wrong, strategies, recall }: CheckedAnswer): void {
    this.wrong ??= wrong;
    for (const strategy of new Set(strategies))
      this.strategyCounts.set(strategy, (this.strategyCounts.get(strategy) ?? 0) + 1);
    if (recall !== null) this.#recalls[usesGraph(strategies) ? 'walked' : 'scanned'].push(recall);
  }

  get recall(): ModelRunResult['recall'] {
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    return { walked: mean(this.#recalls.walked), scanned: mean(this.#recalls.scanned) };
  }
}

/**
 * Changes a collection at random. Before each change it starts two queries, which may return after the change. Compares
 * the whole state `comparisons` times, and closes and opens the collection four times. Stops at the first error.
 */
export async function runAgainstModel(
  scale: ModelScale,
  options: { directory: string; seed: number; changes: number; comparisons?: number },
): Promise<ModelRunResult> {
  const { directory, seed, changes, comparisons = 20 } = options;
  const opened = { dimensions: scale.dimensions, shards: scale.shards.length };
  const model = new IndexModel(scale, seededRandom(seed));
  const tally = new RunStatistics();
  let index = await openIndex(directory, opened);
  for (let change = 1; change <= changes && tally.wrong === null; change++) {
    const strategyCounts = [model.checkQuery(index), model.checkQuery(index)];
    await model.step(index);
    for (const answer of strategyCounts) tally.add(await answer);
    if (change % Math.ceil(changes / 4) === 0) {
      const { sequence } = await index.snapshot();
      if (sequence !== model.sequence) tally.wrong ??= `a snapshot of ${sequence}, not of ${model.sequence}`;
      await index.close();
      index = await openIndex(directory, opened);
      if (index.shards.some((shard) => shard.state !== 'loaded' || shard.sequence > model.sequence))
        tally.wrong ??= `opened ${JSON.stringify(index.shards)}`;
      model.discardStaged();
    }
    if (change % Math.ceil(changes / comparisons) === 0) tally.wrong ??= await model.compare(index);
  }
  await index.close();
  return tally;
}
