import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { type DataDirectory, openDataDirectory } from '../../src/storage/data-directory.ts';
import t, { type Test } from '../support/tap.ts';
import { linesOf, spawnWriter, writeUntilKilled } from './killed-writer.ts';
import { checkNumberedWrites } from './numbered-writes.ts';
import { createTestRandom } from './test-random.ts';

const random = createTestRandom();
const rounds = Number(process.env.QUARRY_CRASH_ROUNDS ?? 6);
const folder = mkdtempSync(join(tmpdir(), 'quarry-crash-'));
t.after(() => rmSync(folder, { recursive: true, force: true }));
function open(path: string): Promise<DataDirectory> {
  return openDataDirectory({ path, reserveBytes: 0, logger: silentLogger, random: systemRandom });
}

async function checkAll(t: Test, path: string, acknowledged: readonly number[]): Promise<number> {
  const directory = await open(path);
  const pairs = await checkNumberedWrites(t, directory.store, acknowledged);
  for (const number of acknowledged.filter((number) => number % 10 === 0)) {
    const hash = createHash('sha256').update(`blob ${number}`).digest('hex');
    if ((await directory.blobs.size(hash)) === null) t.fail(`the blob of write ${number} is missing`);
  }
  await directory.close();
  return pairs;
}

t.test(`every acknowledged write survives ${rounds} times kill -9 (seed ${random.seed})`, async (t) => {
  const path = join(folder, 'data');
  const acknowledged: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    acknowledged.push(...(await writeUntilKilled(random, path, String(round * 1_000_000))));
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
