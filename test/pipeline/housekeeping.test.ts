import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { silentLogger } from '../../src/base/logger.ts';
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
