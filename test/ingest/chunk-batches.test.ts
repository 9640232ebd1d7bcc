import type {
  AnalyzedChunk,
  ChunkBatch,
  ChunkOutcome,
  ChunkTask,
  ChunkTaskResult,
} from '../../src/chunking/chunk-task.ts';
import { packChunks } from '../../src/chunking/packed-chunks.ts';
import { BackgroundScheduler } from '../../src/core/async/background-scheduler.ts';
import { systemClock } from '../../src/core/clock.ts';
import { limits } from '../../src/core/limits.ts';
import { packTexts } from '../../src/core/packed-texts.ts';
import { ChunkBatches } from '../../src/ingest/chunk-batches.ts';
import type { RunOptions } from '../../src/ingest/pools.ts';
import t from '../support/tap.ts';

const task = (path: string, units = 10): ChunkTask => ({
  pages: ['x'.repeat(units)],
  unordered: false,
  title: null,
  path,
  language: null,
  model: 'letters',
  cancelFlag: null,
});

const answerOf = ({ path }: ChunkTask) => ({
  result: { length: path.length } as ChunkTaskResult,
  packed: [],
  ms: 1,
});
const taskOptions = { signal: new AbortController().signal, isIsolated: false };

/** Pool that replies when the test releases it, and records the paths of each batch. */
function createPausedPool(outcomeOf: (task: ChunkTask) => ChunkOutcome = answerOf) {
  const batchPaths: string[][] = [];
  const releases: (() => void)[] = [];
  const run = async <Result>(input: object) => {
    const { tasks } = input as ChunkBatch;
    batchPaths.push(tasks.map(({ path }) => path));
    await new Promise<void>((resolve) => releases.push(resolve));
    return tasks.map(outcomeOf) as Result;
  };
  return { batchPaths, releases, pool: { run, threads: 1 } };
}

const scheduler = new BackgroundScheduler(systemClock);
const nextEventLoopTurn = () => new Promise((resolve) => setImmediate(resolve));

t.test('concurrent documents share a batch in order, up to its limit', async (t) => {
  const { batchPaths, releases, pool } = createPausedPool();
  const batches = new ChunkBatches(pool, scheduler);
  const paths = Array.from({ length: limits.chunkBatchDocumentsMax + 3 }, (_, i) => `${i}`.padStart(i + 2));
  const results = paths.map((path) => batches.run(task(path), taskOptions));
  await nextEventLoopTurn();
  t.same(batchPaths, [
    paths.slice(0, limits.chunkBatchDocumentsMax),
    paths.slice(limits.chunkBatchDocumentsMax),
  ]);
  for (const answer of releases) answer();
  t.same(
    (await Promise.all(results)).map(({ result }) => result.length),
    paths.map((path) => path.length),
    'each document gets its own chunks',
  );
});

t.test('a long document is sent alone, and the pool queue stays bounded', async (t) => {
  const { batchPaths, releases, pool } = createPausedPool();
  const batches = new ChunkBatches(pool, scheduler);
  const all = [task('long', limits.chunkBatchUnitsMax + 1), task('a'), task('b', limits.chunkBatchUnitsMax)];
  const results = all.map((one) => batches.run(one, taskOptions));
  await nextEventLoopTurn();
  t.same(batchPaths, [['long'], ['a']], 'one task runs and one waits');
  releases[0]?.();
  await results[0];
  await nextEventLoopTurn();
  t.same(batchPaths, [['long'], ['a'], ['b']]);
  for (const answer of releases) answer();
  await Promise.all(results);
});

t.test(
  'a document that cannot be chunked fails with a reason, and the rest of its batch succeeds',
  async (t) => {
    const { releases, pool } = createPausedPool((one) =>
      one.path === 'bad' ? { error: new Error('not this one') } : answerOf(one),
    );
    const batches = new ChunkBatches(pool, scheduler);
    const [good, bad, other] = ['good', 'bad', 'other'].map((path) => batches.run(task(path), taskOptions));
    const refused = t.rejects(bad!, { message: 'not this one' });
    await nextEventLoopTurn();
    releases[0]?.();
    await refused;
    t.same([(await good!).result.length, (await other!).result.length], [4, 5]);
  },
);

t.test('a document that crashes its worker fails no other document', async (t) => {
  const run = async <Result>(input: object) => {
    const { tasks } = input as ChunkBatch;
    if (tasks.some(({ path }) => path === 'bad')) throw new Error('the worker ended');
    return tasks.map(answerOf) as Result;
  };
  const batches = new ChunkBatches({ run, threads: 1 }, scheduler);
  const [good, bad, other] = ['good', 'bad', 'other'].map((path) => batches.run(task(path), taskOptions));
  await Promise.all([t.rejects(bad!, { message: 'the worker ended' }), good, other]);
  t.same([(await good!).result.length, (await other!).result.length], [4, 5]);
});

t.test('canceled documents are not sent, and previously failed ones run alone', async (t) => {
  const { batchPaths, releases, pool } = createPausedPool();
  const batches = new ChunkBatches(pool, scheduler);
  const controller = new AbortController();
  const abortReason = batches.run(task('left'), { signal: controller.signal, isIsolated: false });
  controller.abort(new Error('the caller left'));
  const suspect = batches.run(task('suspect'), { ...taskOptions, isIsolated: true });
  const others = [batches.run(task('a'), taskOptions), batches.run(task('b'), taskOptions)];
  await t.rejects(abortReason, { message: 'the caller left' });
  t.same(batchPaths, [['suspect'], ['a', 'b']]);
  for (const answer of releases) answer();
  await Promise.all([suspect, ...others]);
});

t.test('the chunks of a long document arrive packed, and its pages are transferred', async (t) => {
  const chunks = Array.from({ length: 100 }, (_, i) => ({ text: `chunk ${i}` }) as AnalyzedChunk);
  let moved: readonly unknown[] = [];
  const run = async <Result>(_request: object, options: RunOptions = {}) => {
    moved = options.transferList ?? [];
    const result = { length: 7, chunks: [] as readonly AnalyzedChunk[] } as ChunkTaskResult;
    return [{ result, packed: packChunks(chunks), ms: 1 }] as Result;
  };
  const pages = packTexts(['a page', 'another']);
  const batches = new ChunkBatches({ run, threads: 1 }, scheduler);
  const { result } = await batches.run({ ...task('long'), pages }, taskOptions);
  t.same(result, { length: 7, chunks });
  t.same(moved, [pages.block.buffer, pages.lengths.buffer]);
});
