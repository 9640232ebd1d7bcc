import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { PostgresStore } from '../../src/storage/postgres-store.ts';
import { PostgresServer, postgresSkipReason } from '../support/postgres.ts';
import t from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { writeUntilKilled } from './killed-writer.ts';
import { checkNumberedWrites, numberedWrite } from './numbered-writes.ts';
import { createTestRandom } from './test-random.ts';

const random = createTestRandom();
const rounds = 6;
const skip = postgresSkipReason;
const folder = mkdtempSync(join(tmpdir(), 'quarry-postgres-crash-'));
t.after(() => rmSync(folder, { recursive: true, force: true }));

t.test(
  `every acknowledged write survives ${rounds} times kill -9 (seed ${random.seed})`,
  { skip },
  async (t) => {
    const { url } = await PostgresServer.start(t);
    const acknowledged: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      // The second cache of each pair is used once: its next start has an empty one.
      const cache = join(folder, `killed-${round % 2 === 0 ? 0 : round}`);
      acknowledged.push(...(await writeUntilKilled(random, url, String(round * 1_000_000), '8', cache)));
      const location = round % 2 === 0 ? cache : join(folder, `checked-${round}`);
      const store = await PostgresStore.open({
        url,
        cell: 'crash',
        location,
        logger: silentLogger,
        random: systemRandom,
      });
      await checkNumberedWrites(t, store, acknowledged);
      await store.close();
    }
    t.ok(acknowledged.length > 0);
  },
);

t.test('a crash of PostgreSQL loses and repeats no write', { skip }, async (t) => {
  const server = await PostgresServer.start(t);
  const location = join(folder, 'running');
  const options = { url: server.url, cell: 'crash', logger: silentLogger, random: systemRandom };
  const store = await PostgresStore.open({ ...options, location });
  const acknowledged: number[] = [];
  let isEnded = false;
  let next = 0;
  const write = async () => {
    while (!isEnded) {
      const number = next;
      next += 1;
      await store.write(numberedWrite(number)).then(
        () => acknowledged.push(number),
        // Rejected writes change nothing, which the check of the count shows.
        () => new Promise((resolve) => setTimeout(resolve, 20)),
      );
    }
  };
  const writers = Promise.all(Array.from({ length: 8 }, write));
  for (let round = 0; round < rounds; round += 1) {
    const before = acknowledged.length;
    await waitUntil('a write after the restart', () => acknowledged.length > before);
    await new Promise((resolve) => setTimeout(resolve, random.below(200)));
    await server.crash();
    await server.restart();
  }
  isEnded = true;
  await writers;
  t.equal(await checkNumberedWrites(t, store, acknowledged), acknowledged.length, 'no rejected write exists');
  await store.close();
  const loaded = await PostgresStore.open({ ...options, location: join(folder, 'loaded') });
  t.equal(await checkNumberedWrites(t, loaded, acknowledged), acknowledged.length);
  await loaded.close();
});
