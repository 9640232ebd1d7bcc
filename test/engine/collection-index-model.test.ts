import t, { type Test } from 'tap';
import { type CollectionIndex, IndexError, type StagedDocument } from '../../src/engine/collection-index.ts';
import { cloud, hitsOf, makeDocument, openIndex, query, seededRandom, temporaryFolder } from './samples.ts';

const folder = temporaryFolder();
t.teardown(folder.remove);

interface Known {
  readonly rows: number;
  readonly color: string;
  readonly shard: number;
}

/** The index as a plain map would be it. */
class Model {
  readonly live = new Map<number, Known>();
  readonly staged = new Map<number, Known>();
  sequence = 0;
  versions = 0;
}

/** Comes again while a compaction has to come first. */
async function stage(index: CollectionIndex, document: StagedDocument): Promise<void> {
  for (;;) {
    try {
      await index.stage(document);
      return;
    } catch (error) {
      if (!(error instanceof IndexError) || error.code !== 'busy') throw error;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}

async function step(index: CollectionIndex, model: Model, random: () => number, shards: number) {
  const vectors = cloud(8, 4, random);
  const pick = <T>(items: Iterable<T>): T | undefined => {
    const all = [...items];
    return all[Math.floor(random() * all.length)];
  };
  const choice = random();
  if (choice < 0.45) {
    const version = random() < 0.9 ? ++model.versions : (pick(model.staged.keys()) ?? ++model.versions);
    const shard = model.staged.get(version)?.shard ?? Math.floor(random() * shards);
    const known = { rows: Math.floor(random() * 40), color: pick(['red', 'green', 'blue']) ?? 'red', shard };
    const rows = Array.from({ length: known.rows }, () => vectors());
    await stage(index, makeDocument({ shard, version }, rows, { color: known.color }));
    model.staged.set(version, known);
  } else if (choice < 0.85) {
    const add = pick(model.staged.keys());
    const shard = add === undefined ? Math.floor(random() * shards) : (model.staged.get(add)?.shard ?? 0);
    const inShard = [...model.live].filter(([, known]) => known.shard === shard).map(([version]) => version);
    const remove = random() < 0.75 ? pick(inShard) : undefined;
    model.sequence++;
    index.commit({
      sequence: model.sequence,
      shard,
      ...(add !== undefined && { add }),
      ...(remove !== undefined && { remove }),
    });
    if (remove !== undefined) model.live.delete(remove);
    if (add !== undefined) {
      model.live.set(add, model.staged.get(add) as Known);
      model.staged.delete(add);
    }
  } else {
    const version = pick(model.staged.keys());
    if (version === undefined) return;
    index.discard(model.staged.get(version)?.shard ?? 0, version);
    model.staged.delete(version);
  }
}

async function check(t: Test, index: CollectionIndex, model: Model, random: () => number): Promise<void> {
  const vector = cloud(8, 4, random)();
  const everything = { vector, vectorCandidates: 1_000_000, terms: [{ hash: 1n, weight: 1, group: 0 }] };
  const expected = (color: string | null) =>
    [...model.live]
      .filter(([, known]) => color === null || known.color === color)
      .sort(([left], [right]) => left - right);
  for (const color of [null, 'green']) {
    const filter =
      color === null
        ? null
        : ({ kind: 'compare', attribute: 'color', operator: 'eq', value: color } as const);
    const wanted = expected(color);
    const found = await hitsOf(index, { ...everything, filter });
    t.same(
      found.map(({ version, chunk }) => `${version}:${chunk}`),
      wanted.flatMap(([version, { rows }]) =>
        Array.from({ length: rows }, (_, chunk) => `${version}:${chunk}`),
      ),
    );
    t.same(
      Array.from(await index.list(filter, 1e6)).sort((left, right) => left - right),
      wanted.map(([version]) => version),
    );
    t.equal(index.count(filter), wanted.length);
  }
  const { rows, documents } = index.statistics();
  t.equal(documents, model.live.size);
  t.equal(
    rows,
    [...model.live.values()].reduce((sum, known) => sum + known.rows, 0),
  );
}

for (const shards of [1, 8]) {
  const seed = Number(process.env.QUARRY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
  t.test(
    `random operations, reopenings included, match a plain map (${shards} shards, seed ${seed})`,
    async (t) => {
      const random = seededRandom(seed);
      const model = new Model();
      const directory = `${folder.path}/${shards}`;
      let index = await openIndex(directory, { shards });
      for (let operation = 1; operation <= 1200; operation++) {
        await step(index, model, random, shards);
        if (operation % 60 === 0) await check(t, index, model, random);
        if (operation % 300 === 0) {
          t.equal((await index.snapshot()).sequence, model.sequence);
          await index.close();
          index = await openIndex(directory, { shards });
          t.ok(index.opened.every(({ state, sequence }) => state === 'loaded' && sequence <= model.sequence));
          model.staged.clear();
          await check(t, index, model, random);
        }
      }
      await index.close();
    },
  );
}

t.test('no search mixes two versions of a document while versions switch under it', async (t) => {
  const shards = 8;
  const index = await openIndex(`${folder.path}/switch`, { shards });
  const random = seededRandom(5);
  const vectors = cloud(8, 4, random);
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
        query({ vector: vectors(), vectorCandidates: 100_000, terms: [{ hash: 1n, weight: 1, group: 0 }] }),
      );
      const rowsOf = new Map<number, number>();
      for (const version of hits.version) rowsOf.set(version, (rowsOf.get(version) ?? 0) + 1);
      const whole = [...rowsOf].every(([version, rows]) => rows === 1 + (version % 9));
      // The search was called when `versions` were current, and sees exactly those.
      const asOfTheCall =
        rowsOf.size === paths && [...rowsOf.keys()].every((version) => versions.has(version));
      if (!whole || !asOfTheCall) t.fail(`a mixed answer: ${JSON.stringify([...rowsOf])}`);
      searches++;
    }
  };
  const readers = Array.from({ length: 8 }, reader);
  for (let version = paths; version < 1500; version++) await overwrite(version % paths, version);
  writing = false;
  await Promise.all(readers);
  t.ok(searches > 100, `${searches} searches`);
  await index.close();
});
