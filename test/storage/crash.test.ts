import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { type DataDirectory, openDataDirectory } from '../../src/storage/data-directory.ts';
import { readCounters } from '../../src/storage/store.ts';
import t, { type Test } from '../support/tap.ts';
import { createTestRandom } from './test-random.ts';

const random = createTestRandom();
const rounds = Number(process.env.QUARRY_CRASH_ROUNDS ?? 6);
const folder = mkdtempSync(join(tmpdir(), 'quarry-crash-'));
t.after(() => rmSync(folder, { recursive: true, force: true }));
const script = fileURLToPath(new URL('./store-child.js', import.meta.url));

/** Resolves with all lines printed by the child, once it has ended. */
function linesOf(child: ChildProcess): Promise<string[]> {
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  // The kill may truncate the last line: only lines with a newline count.
  return new Promise((resolve) => child.on('close', () => resolve(text.split('\n').slice(0, -1))));
}

function open(path: string): Promise<DataDirectory> {
  return openDataDirectory({ path, reserveBytes: 0, logger: silentLogger, random: systemRandom });
}

/** Starts a child that writes to a data directory, without the test runner's loaders, which would slow its start. */
function spawnWriter(...words: readonly string[]): ChildProcess {
  const command = ['-u', 'NODE_OPTIONS', process.execPath, script, ...words];
  return spawn('env', command, { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Kills a writing child at a random moment after its first acknowledgment; returns the acknowledged numbers. */
async function writeUntilKilled(path: string, first: number): Promise<number[]> {
  const child = spawnWriter(path, String(first));
  const lines = linesOf(child);
  const delay = random.below(400);
  let ended = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    const before = ended;
    ended += chunk.toString().split('\n').length - 1;
    // The first line is "open", the second one an acknowledgment.
    if (before < 2 && ended >= 2) setTimeout(() => child.kill('SIGKILL'), delay);
  });
  const [opened, ...acknowledged] = await lines;
  if (opened !== 'open') throw new Error(`the child did not open the directory: ${opened}`);
  return acknowledged.map(Number);
}

async function checkAll(t: Test, path: string, acknowledged: readonly number[]): Promise<number> {
  const directory = await open(path);
  const { store, blobs } = directory;
  let missing = 0;
  for (const number of acknowledged) {
    const [left, right] = store.getMany([Buffer.from(`left ${number}`), Buffer.from(`right ${number}`)]);
    const length = 10 + (number % 5) * 3000;
    const whole = (value: Uint8Array | undefined) =>
      value !== undefined && Buffer.alloc(length, number % 251).equals(value);
    if (!whole(left) || !whole(right)) missing += 1;
    if (number % 10 === 0) {
      const hash = createHash('sha256').update(`blob ${number}`).digest('hex');
      if ((await blobs.size(hash)) === null) missing += 1;
    }
  }
  t.equal(missing, 0, `all ${acknowledged.length} acknowledged writes exist`);
  let pairs = 0;
  for await (const { key } of store.range({ gte: Buffer.from('left '), lt: Buffer.from('left!') })) {
    const partner = Buffer.from(`right${Buffer.from(key).toString().slice(4)}`);
    if (store.get(partner) === undefined) t.fail(`${Buffer.from(key).toString()} has lost its pair`);
    pairs += 1;
  }
  t.equal(readCounters(store.get(Buffer.from('total')), 1)[0], pairs, 'the count is exact');
  t.ok(pairs >= acknowledged.length);
  await directory.close();
  return pairs;
}

t.test(`every acknowledged write survives ${rounds} times kill -9 (seed ${random.seed})`, async (t) => {
  const path = join(folder, 'data');
  const acknowledged: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    acknowledged.push(...(await writeUntilKilled(path, round * 1_000_000)));
    await checkAll(t, path, acknowledged);
  }
  t.ok(acknowledged.length > 0);
});

t.test('a second server fails to start and names the first; after kill -9 a new one starts', async (t) => {
  const path = join(folder, 'locked');
  const first = spawnWriter(path, '0', '1');
  const lines = linesOf(first);
  await new Promise((resolve) => first.stdout?.once('data', resolve));
  const expected = {
    code: 'unavailable',
    message: new RegExp(`in use by the server with process ID ${first.pid}\\.`),
  };
  await t.rejects(open(path), expected);
  const second = spawnWriter(path);
  t.match((await linesOf(second))[0], `process ID ${first.pid}`);
  first.kill('SIGKILL');
  await lines;
  const third = await open(path);
  await t.rejects(open(path), { message: new RegExp(`process ID ${process.pid}\\.`) });
  await third.close();
});
