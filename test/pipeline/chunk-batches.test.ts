import t from 'tap';
import { systemClock } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import { packTexts } from '../../src/base/packed-texts.ts';
import { Turns } from '../../src/base/turns.ts';
import type {
  AnalysedChunk,
  ChunkBatch,
  ChunkOutcome,
  ChunkTask,
  ChunkTaskResult,
} from '../../src/chunking/chunk-task.ts';
import { packChunks } from '../../src/chunking/packed-chunks.ts';
import { ChunkBatches } from '../../src/pipeline/chunk-batches.ts';
import type { RunOptions } from '../../src/pipeline/pools.ts';

const task = (path: string, units = 10): ChunkTask => ({
  ...{ pages: ['x'.repeat(units)], unordered: false, title: null, path, language: null, model: 'letters' },
  stop: null,
});

const answerOf = ({ path }: ChunkTask) => ({
  result: { length: path.length } as ChunkTaskResult,
  packed: [],
  ms: 1,
});
const wanted = { signal: new AbortController().signal, alone: false };

/** A pool that answers when it is told to, and remembers what rode together. */
function heldPool(outcomeOf: (task: ChunkTask) => ChunkOutcome = answerOf) {
  const trips: string[][] = [];
  const answers: (() => void)[] = [];
  const run = async <Result>(asked: object) => {
    const { tasks } = asked as ChunkBatch;
    trips.push(tasks.map(({ path }) => path));
    await new Promise<void>((resolve) => answers.push(resolve));
    return tasks.map(outcomeOf) as Result;
  };
  return { trips, answers, pool: { run, threads: 1 } };
}

const turns = new Turns(systemClock);
const soon = () => new Promise((resolve) => setImmediate(resolve));

t.test('documents that come together ride together, as many as fit, in their order', async (t) => {
  const { trips, answers, pool } = heldPool();
  const batches = new ChunkBatches(pool, turns);
  const paths = Array.from({ length: limits.chunkBatchDocumentsMax + 3 }, (_, i) => `${i}`.padStart(i + 2));
  const results = paths.map((path) => batches.run(task(path), wanted));
  await soon();
  t.same(trips, [paths.slice(0, limits.chunkBatchDocumentsMax), paths.slice(limits.chunkBatchDocumentsMax)]);
  for (const answer of answers) answer();
  t.same(
    (await Promise.all(results)).map(({ result }) => result.length),
    paths.map((path) => path.length),
    'each gets what was made of it',
  );
});

t.test('a long document rides alone, and the pool is never flooded', async (t) => {
  const { trips, answers, pool } = heldPool();
  const batches = new ChunkBatches(pool, turns);
  const all = [task('long', limits.chunkBatchUnitsMax + 1), task('a'), task('b', limits.chunkBatchUnitsMax)];
  const results = all.map((one) => batches.run(one, wanted));
  await soon();
  t.same(trips, [['long'], ['a']], 'one runs and one waits at the thread');
  answers[0]?.();
  await results[0];
  await soon();
  t.same(trips, [['long'], ['a'], ['b']]);
  for (const answer of answers) answer();
  await Promise.all(results);
});

t.test('a document that cannot be cut says why, and its company arrives', async (t) => {
  const { answers, pool } = heldPool((one) =>
    one.path === 'bad' ? { error: new Error('not this one') } : answerOf(one),
  );
  const batches = new ChunkBatches(pool, turns);
  const [good, bad, other] = ['good', 'bad', 'other'].map((path) => batches.run(task(path), wanted));
  const refused = t.rejects(bad!, { message: 'not this one' });
  await soon();
  answers[0]?.();
  await refused;
  t.same([(await good!).result.length, (await other!).result.length], [4, 5]);
});

t.test('a document that takes its worker down takes no other one with it', async (t) => {
  const run = async <Result>(asked: object) => {
    const { tasks } = asked as ChunkBatch;
    if (tasks.some(({ path }) => path === 'bad')) throw new Error('the worker ended');
    return tasks.map(answerOf) as Result;
  };
  const batches = new ChunkBatches({ run, threads: 1 }, turns);
  const [good, bad, other] = ['good', 'bad', 'other'].map((path) => batches.run(task(path), wanted));
  await Promise.all([t.rejects(bad!, { message: 'the worker ended' }), good, other]);
  t.same([(await good!).result.length, (await other!).result.length], [4, 5]);
});

t.test('nobody is sent who is not wanted any more, and one that failed before goes alone', async (t) => {
  const { trips, answers, pool } = heldPool();
  const batches = new ChunkBatches(pool, turns);
  const gone = new AbortController();
  const left = batches.run(task('left'), { signal: gone.signal, alone: false });
  gone.abort(new Error('nobody wants it'));
  const suspect = batches.run(task('suspect'), { ...wanted, alone: true });
  const others = [batches.run(task('a'), wanted), batches.run(task('b'), wanted)];
  await t.rejects(left, { message: 'nobody wants it' });
  t.same(trips, [['suspect'], ['a', 'b']]);
  for (const answer of answers) answer();
  await Promise.all([suspect, ...others]);
});

t.test('the chunks of a long document arrive packed, and its pages move', async (t) => {
  const chunks = Array.from({ length: 100 }, (_, i) => ({ text: `chunk ${i}` }) as AnalysedChunk);
  let moved: readonly unknown[] = [];
  const run = async <Result>(_asked: object, options: RunOptions = {}) => {
    moved = options.transferList ?? [];
    const result = { length: 7, chunks: [] as readonly AnalysedChunk[] } as ChunkTaskResult;
    return [{ result, packed: packChunks(chunks), ms: 1 }] as Result;
  };
  const pages = packTexts(['a page', 'another']);
  const batches = new ChunkBatches({ run, threads: 1 }, turns);
  const { result } = await batches.run({ ...task('long'), pages }, wanted);
  t.same(result, { length: 7, chunks });
  t.same(moved, [pages.block.buffer, pages.lengths.buffer]);
});
