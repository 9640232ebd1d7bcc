import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import t from '../support/tap.ts';
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
const script = new URL('./search-worker.js', import.meta.url);

/** Starts a thread without the options of this process, which would load the test runner into it. */
function startWorker(directory: string, exitMode: string): Worker {
  return new Worker(script, { workerData: [directory, exitMode], execArgv: [] });
}

async function runProcess(directory: string, exitMode: string) {
  // Without NODE_OPTIONS for the same reason.
  const command = ['-u', 'NODE_OPTIONS', process.execPath, fileURLToPath(script), directory, exitMode];
  const child = spawn('env', command, { stdio: 'inherit' });
  const [code, signal] = await once(child, 'exit');
  return { code, signal };
}

t.test('terminating worker threads during searches does not affect others', async (t) => {
  const directory = `${folder.path}/workers`;
  const index = await openIndex(directory, { dimensions: 32 });
  const vectors = randomClusters(32, 4, seededRandom(10));
  await index.stage(
    makeDocument(
      { shard: 0, version: 1 },
      Array.from({ length: 1000 }, () => vectors()),
    ),
  );
  index.commit({ sequence: 1, shard: 0, add: 1 });
  for (let round = 0; round < 8; round++) {
    const workers = [0, 1].map(() => startWorker(directory, 'never'));
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    await new Promise((resolve) => setTimeout(resolve, round * 7));
    const during = index.search(indexQuery({ vector: vectors(), vectorCandidates: 5000 }));
    await Promise.all(workers.map((worker) => worker.terminate()));
    t.equal((await during).count, 1000);
  }
  t.equal(index.count(null), 1);
  await index.close();
});

t.test('a worker thread that is the only user of the index exits when its work is done', async (t) => {
  const worker = startWorker(`${folder.path}/alone`, 'return');
  const [code] = await once(worker, 'exit');
  t.equal(code, 0);
});

t.test('a process that exits in the middle of searches exits with its own code', async (t) => {
  for (let round = 0; round < 4; round++) {
    t.same(await runProcess(`${folder.path}/exit`, 'exit'), { code: 7, signal: null });
  }
});

t.test('a process exits after its searches although the index was never closed', async (t) => {
  t.same(await runProcess(`${folder.path}/return`, 'return'), { code: 0, signal: null });
});
