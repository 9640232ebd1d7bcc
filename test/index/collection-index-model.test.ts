import t from '../support/tap.ts';
import type { ModelScale } from './index-model.ts';
import { recallMin, runAgainstModel, searchStrategies } from './model-run.ts';
import {
  createTemporaryFolder,
  indexQuery,
  makeDocument,
  openIndex,
  randomClusters,
  seededRandom,
} from './samples.ts';

const folder = createTemporaryFolder();
t.teardown(folder.remove);
const seed = Number(process.env.QUARRY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

const small: readonly ModelScale[] = [[800], Array.from({ length: 8 }, () => 100)].map((shards) => ({
  dimensions: 8,
  rowsMax: 40,
  shards,
}));

for (const scale of small) {
  const shards = scale.shards.length;
  t.test(
    `random changes, reopenings included, match a plain map (${shards} shards, seed ${seed})`,
    async (t) => {
      const directory = `${folder.path}/${shards}`;
      t.equal((await runAgainstModel(scale, { directory, seed, changes: 600 })).wrong, null);
    },
  );
}

t.test(
  `random changes match a plain map with one graph shard and one scanned shard (seed ${seed})`,
  async (t) => {
    const scale = { dimensions: 24, rowsMax: 800, shards: [8_500, 1_200] };
    // A comparison of 10,000 rows takes as long as 20 queries; four of them follow an opening of the collection.
    const options = { directory: `${folder.path}/large`, seed, changes: 150, comparisons: 4 };
    const run = await runAgainstModel(scale, options);
    t.equal(run.wrong, null);
    for (const strategy of searchStrategies) t.ok(run.strategyCounts.has(strategy), `${strategy} occurred`);
    const { walked: graphAnswers, scanned: scanAnswers } = run.recall;
    t.ok(graphAnswers >= recallMin.graph, `graphs find ${graphAnswers}`);
    t.ok(scanAnswers >= recallMin.scan, `scans find ${scanAnswers}`);
  },
);

t.test('no search mixes two versions of a document during overwrites', async (t) => {
  const shards = 8;
  const index = await openIndex(`${folder.path}/switch`, { shards });
  const random = seededRandom(5);
  const vectors = randomClusters(8, 4, random);
  const paths = 16;
  const current = new Map<number, number>();
  let sequence = 0;
  const overwrite = async (path: number, version: number) => {
    const rows = Array.from({ length: 1 + (version % 9) }, () => vectors());
    await index.stage(makeDocument({ shard: path % shards, version }, rows, { path: String(path) }));
    sequence++;
    const remove = current.get(path);
    index.commit({ sequence, shard: path % shards, add: version, ...(remove !== undefined && { remove }) });
    current.set(path, version);
  };
  for (let path = 0; path < paths; path++) await overwrite(path, path);
  let writing = true;
  let searches = 0;
  const reader = async () => {
    while (writing) {
      const versions = new Set([...current.values()]);
      const hits = await index.search(
        indexQuery({
          vector: vectors(),
          vectorCandidates: 100_000,
          terms: [{ hash: 1n, weight: 1, group: 0 }],
        }),
      );
      const rowsOf = new Map<number, number>();
      for (const version of hits.version) rowsOf.set(version, (rowsOf.get(version) ?? 0) + 1);
      const whole = [...rowsOf].every(([version, rows]) => rows === 1 + (version % 9));
      // The search started when `versions` were current and must see exactly those.
      const asOfTheCall =
        rowsOf.size === paths && [...rowsOf.keys()].every((version) => versions.has(version));
      if (!whole || !asOfTheCall) t.fail(`a mixed result: ${JSON.stringify([...rowsOf])}`);
      searches++;
    }
  };
  const readers = Array.from({ length: 8 }, reader);
  for (let version = paths; version < 400; version++) await overwrite(version % paths, version);
  writing = false;
  await Promise.all(readers);
  t.ok(searches > 100, `${searches} searches`);
  await index.close();
});
