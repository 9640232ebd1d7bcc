import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { limits } from '../../src/core/limits.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { CollectionIndex } from '../../src/index/collection-index.ts';
import { MaintenanceScheduler } from '../../src/ingest/maintenance.ts';
import t from '../support/tap.ts';
import { ingestText, openComponents } from './controllable-store.ts';

t.test('a deleted collection is swept automatically, with its page images', async (t) => {
  let late = 0;
  const clock = { now: () => Date.now() + late, monotonic: () => performance.now() };
  const first = await openComponents(t, { clock });
  await ingestText(first, 'a.txt', 'a text about herring');
  let sweeps = 0;
  const derivedFiles = {
    async removeOrphans() {
      sweeps += 1;
    },
  };
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const memory = { isReached: false };
  const options = { ...first, derivedFiles, memory, clock, logger: silentLogger, snapshotMs: 3_600_000 };
  const maintenance = new MaintenanceScheduler(options);
  t.teardown(() => maintenance.close());
  maintenance.start([]);
  await first.deleteCollection(first.papers);
  late = limits.garbageDelayMs + 1;
  while (first.documents.get(first.papers.collectionId, 'a.txt') !== undefined || sweeps === 0) {
    mock.timers.tick(15_000);
    for (let i = 0; i < 50; i += 1) await turn();
  }
  t.same(await first.collections.listTombstones(), []);
  t.equal(sweeps, 1);
});

t.test(
  'at the memory limit vectors move to files, freed memory is returned, and a deferred compaction is logged once',
  async (t) => {
    const first = await openComponents(t);
    await ingestText(first, 'a.txt', 'a text about herring');
    const { releaseFreeMemory, deferredCompactions } = CollectionIndex;
    t.teardown(() => Object.assign(CollectionIndex, { releaseFreeMemory, deferredCompactions }));
    let released = 0;
    CollectionIndex.releaseFreeMemory = async () => {
      await releaseFreeMemory();
      released += 1;
    };
    let postponed = 0;
    let statisticsReads = 0;
    CollectionIndex.deferredCompactions = () => {
      statisticsReads += 1;
      return postponed;
    };
    const logged: unknown[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => logged.push(fields) };
    const memory = { isReached: false };
    mock.timers.enable({ apis: ['setTimeout'] });
    t.teardown(() => mock.timers.reset());
    const derivedFiles = { removeOrphans: async () => {} };
    const clock = { now: () => Date.now(), monotonic: () => performance.now() };
    const maintenance = new MaintenanceScheduler({
      ...first,
      derivedFiles,
      memory,
      clock,
      logger,
      snapshotMs: 3_600_000,
    });
    t.teardown(() => maintenance.close());
    maintenance.start([]);
    const pass = async (ms: number) => {
      for (let i = 0; i < ms; i += 1_000) {
        mock.timers.tick(1_000);
        for (let j = 0; j < 20; j += 1) await turn();
      }
    };
    const files = () => readdirSync(join(first.folder, 'index', first.papers.collectionId));
    await pass(31_000);
    t.same([files(), released, logged], [[], 0, []], 'one change causes no early snapshot');
    memory.isReached = true;
    postponed = 2;
    while (files().length < 8 || released < 2) await pass(1_000);
    const runOnce = async () => {
      for (const before = statisticsReads; statisticsReads < before + 2; ) await pass(1_000);
    };
    await runOnce();
    t.same(logged, [{ compactions: 2 }]);
    postponed = 0;
    await runOnce();
    postponed = 1;
    await runOnce();
    t.same(logged, [{ compactions: 2 }, { compactions: 1 }]);
  },
);
