/** Invariants of collection-index-model.test.ts on larger collections with other shard sizes: 45 s of CPU time. */
import t from '../support/tap.ts';
import type { ModelScale } from './index-model.ts';
import { recallMin, runAgainstModel, searchStrategies } from './model-run.ts';
import { createTemporaryFolder } from './samples.ts';

const folder = createTemporaryFolder();
t.teardown(folder.remove);
const seed = Number(process.env.QUARRY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

const scales: readonly (ModelScale & { readonly changes: number })[] = [
  { dimensions: 24, rowsMax: 900, shards: [12_000, 900], changes: 400 },
  { dimensions: 100, rowsMax: 900, shards: [8_000, 6_000, 700], changes: 160 },
  { dimensions: 8, rowsMax: 1_200, shards: [7_000, 7_000, 7_000, 300, 300, 300, 300, 300], changes: 250 },
];

for (const { changes, ...scale } of scales) {
  t.test(
    `random changes match a plain map, regardless of the search strategy (${scale.shards} rows, seed ${seed})`,
    async (t) => {
      const directory = `${folder.path}/${scale.dimensions}`;
      const run = await runAgainstModel(scale, { directory, seed, changes });
      t.equal(run.wrong, null);
      for (const strategy of searchStrategies)
        t.ok(run.strategyCounts.has(strategy), `${run.strategyCounts.get(strategy)} answers by ${strategy}`);
      const { walked: graphAnswers, scanned: scanAnswers } = run.recall;
      t.ok(graphAnswers >= recallMin.graph, `graphs find ${graphAnswers}`);
      t.ok(scanAnswers >= recallMin.scan, `scans find ${scanAnswers}`);
    },
  );
}
