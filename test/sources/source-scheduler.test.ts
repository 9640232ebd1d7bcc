import { randomUUID } from 'node:crypto';
import { silentLogger } from '../../src/core/logger.ts';
import { SourceScheduler } from '../../src/sources/source-scheduler.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { type SourceRecord, Sources } from '../../src/storage/sources.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import t from '../support/tap.ts';

t.test('statistics count sources by state, failures, and the wait of due sources', async (t) => {
  const clock = new FakeClock();
  const store = new MemoryStore();
  const sources = new Sources(store);
  // The scheduler is not started, so that due sources wait.
  const scheduler = new SourceScheduler({
    store,
    sources,
    kinds: { open: neverCalled, forget: neverCalled },
    synchronizer: { run: neverCalled, removeDocuments: neverCalled },
    clock,
    logger: silentLogger,
    mayLogContent: () => true,
    onRunEnd: () => {},
  });
  t.teardown(() => scheduler.close());
  const startedAt = clock.now();
  const add = (fields: Partial<SourceRecord>): SourceRecord => {
    const record = { ...createRecord(startedAt), ...fields };
    scheduler.add(record);
    return record;
  };
  add({});
  add({ isPaused: true });
  add({ schedule: 'off' });
  const counts = { added: 0, updated: 0, deleted: 0, unchanged: 0, failed: 0 };
  const lastRun = { startedAt, endedAt: startedAt, outcome: 'failed', error: 'No access.', counts } as const;
  const state = { cursor: null, runningSince: null, lastRun, lastSuccessAt: null };
  await store.write([sources.putState(add({}), state)]);
  await clock.advance(1_000);
  t.same(scheduler.statistics(), {
    states: { idle: 2, queued: 1, running: 0, paused: 1 },
    failing: 1,
    lagMs: 1_000,
  });
  await clock.advance(2 * 3_600_000);
  t.match(scheduler.statistics(), { states: { idle: 1, queued: 2 }, lagMs: 2 * 3_600_000 + 1_000 });
});

function neverCalled(): Promise<never> {
  return Promise.reject(new Error('nothing runs'));
}

function createRecord(createdAt: number): SourceRecord {
  return {
    sourceId: randomUUID(),
    organizationId: randomUUID(),
    name: 'files',
    collectionId: randomUUID(),
    kind: 'directory',
    settings: {},
    credentials: null,
    prefix: '',
    schedule: '1h',
    isWatched: false,
    metadata: {},
    revision: 0,
    isPaused: false,
    createdAt,
  };
}
