import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { PostgresStore } from '../../src/storage/postgres-store.ts';
import type { Entry, Store } from '../../src/storage/store.ts';
import { createTestRandom } from '../storage/test-random.ts';
import { postgresSkipReason, startPostgres } from '../support/postgres.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { Simulation } from './simulation.ts';

const random = createTestRandom();
const steps = Number(process.env.QUARRY_SIMULATION_STEPS ?? 400);

async function entriesOf(store: Store): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of store.range({})) entries.push(entry);
  return entries;
}

t.test(
  `${steps} random steps on PostgreSQL match a plain map (seed ${random.seed})`,
  { timeout: testFileMsMax, skip: postgresSkipReason },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'quarry-simulate-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const url = await startPostgres(t);
    const open = (name: string) => {
      const location = join(folder, name);
      const [logger, random] = [silentLogger, systemRandom];
      return PostgresStore.open({ url, cell: 'simulation', location, logger, random });
    };
    const store = await open('cache');
    t.teardown(() => store.close());
    mkdirSync(join(folder, 'files'));
    const simulation = new Simulation(t, random, join(folder, 'files'), store);
    await simulation.run(steps);
    t.comment(JSON.stringify(simulation.counts));
    for (const [what, count] of Object.entries(simulation.counts)) t.ok(count > 0, `${what} happened`);
    const expected = await entriesOf(store);
    await store.close();
    const loaded = await open('loaded');
    t.same(await entriesOf(loaded), expected, 'an empty cache loads the same entries');
    await loaded.close();
  },
);
