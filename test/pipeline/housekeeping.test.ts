import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { CollectionIndex } from '../../src/engine/collection-index.ts';
import { Housekeeping } from '../../src/pipeline/housekeeping.ts';
import { addText, rooms } from './held-store.ts';

t.test(
  'a deleted collection is cleared away without being asked, with the images of its pages',
  async (t) => {
    let late = 0;
    const clock = { now: () => Date.now() + late, monotonic: () => performance.now() };
    const first = await rooms(t, { clock });
    await addText(first, 'a.txt', 'a text about herring');
    let looked = 0;
    const images = {
      async removeOrphans() {
        looked += 1;
      },
    };
    mock.timers.enable({ apis: ['setTimeout'] });
    t.teardown(() => mock.timers.reset());
    const memory = { isReached: false };
    const options = { ...first, images, memory, clock, logger: silentLogger, snapshotMs: 3_600_000 };
    const housekeeping = new Housekeeping(options);
    t.teardown(() => housekeeping.close());
    housekeeping.start([]);
    await first.deleteCollection(first.papers);
    late = limits.garbageDelayMs + 1;
    while (first.documents.get(first.papers.collectionId, 'a.txt') !== undefined || looked === 0) {
      mock.timers.tick(15_000);
      for (let i = 0; i < 50; i += 1) await turn();
    }
    t.same(await first.collections.tombstones(), []);
    t.equal(looked, 1);
  },
);

t.test(
  'at the memory limit vectors go to their files soon and free memory to the system, and what is put off is told once',
  async (t) => {
    const first = await rooms(t);
    await addText(first, 'a.txt', 'a text about herring');
    const { releaseFreeMemory, compactionsPutOff } = CollectionIndex;
    t.teardown(() => Object.assign(CollectionIndex, { releaseFreeMemory, compactionsPutOff }));
    let released = 0;
    CollectionIndex.releaseFreeMemory = async () => {
      await releaseFreeMemory();
      released += 1;
    };
    let putOff = 0;
    let looks = 0;
    CollectionIndex.compactionsPutOff = () => {
      looks += 1;
      return putOff;
    };
    const told: unknown[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => told.push(fields) };
    const memory = { isReached: false };
    mock.timers.enable({ apis: ['setTimeout'] });
    t.teardown(() => mock.timers.reset());
    const images = { removeOrphans: async () => {} };
    const clock = { now: () => Date.now(), monotonic: () => performance.now() };
    const housekeeping = new Housekeeping({ ...first, images, memory, clock, logger, snapshotMs: 3_600_000 });
    t.teardown(() => housekeeping.close());
    housekeeping.start([]);
    const pass = async (ms: number) => {
      for (let i = 0; i < ms; i += 1_000) {
        mock.timers.tick(1_000);
        for (let j = 0; j < 20; j += 1) await turn();
      }
    };
    const files = () => readdirSync(join(first.folder, 'index', first.papers.collectionId));
    await pass(31_000);
    t.same([files(), released, told], [[], 0, []], 'one change is worth no snapshot before its time');
    memory.isReached = true;
    putOff = 2;
    while (files().length < 8 || released < 2) await pass(1_000);
    const look = async () => {
      for (const before = looks; looks < before + 2; ) await pass(1_000);
    };
    await look();
    t.same(told, [{ compactions: 2 }]);
    putOff = 0;
    await look();
    putOff = 1;
    await look();
    t.same(told, [{ compactions: 2 }, { compactions: 1 }]);
  },
);
