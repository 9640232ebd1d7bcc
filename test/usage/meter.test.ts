import type { Logger } from '../../src/core/logger.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import type { Store, WriteOperation, WriteOptions } from '../../src/storage/store.ts';
import { namedCounters, UsageLedger } from '../../src/usage/ledger.ts';
import { UsageMeter } from '../../src/usage/meter.ts';
import type { DocumentUsageEvent, EmbedUsageEvent } from '../../src/usage/usage-events.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import t from '../support/tap.ts';

const organizationId = '11111111-1111-4111-8111-111111111111';
const otherOrganization = '22222222-2222-4222-8222-222222222222';
const collectionId = '33333333-3333-4333-8333-333333333333';

const embed: EmbedUsageEvent = {
  organizationId,
  model: 'zembed-1',
  explicitCall: true,
  bytes: 160,
  tokens: 4,
  timeTakenMs: 1.5,
};
const added: DocumentUsageEvent = {
  organizationId,
  collectionId,
  event: 'added',
  fileBytes: 1_000,
  contentTokens: 200,
  embeddingTokens: 300,
  coarseChunks: 2,
  fineChunks: 9,
  pages: 3,
  timeTakenMs: 12,
};

/** Store whose writes can be made to fail. */
class FailingStore extends MemoryStore {
  failures = 0;
  writes = 0;

  override write(operations: readonly WriteOperation[], options?: WriteOptions): Promise<void> {
    this.writes += 1;
    if (this.failures > 0) {
      this.failures -= 1;
      return Promise.reject(new Error('no space'));
    }
    return super.write(operations, options);
  }
}

function build(
  options: { store?: Store; clock?: FakeClock; logger?: Logger; pendingTotalsMax?: number } = {},
) {
  const store = options.store ?? new MemoryStore();
  const clock = options.clock ?? new FakeClock({ wall: Date.UTC(2026, 10, 21, 10, 0, 30) });
  const logger = options.logger ?? silentLogger;
  const bound = options.pendingTotalsMax === undefined ? {} : { pendingTotalsMax: options.pendingTotalsMax };
  const meter = new UsageMeter({ store, clock, logger, ...bound });
  const ledger = new UsageLedger({ store, clock });
  const embedded = async (length: 'allTime' | 'thisMonth' = 'allTime', who = organizationId) => {
    const rows = await ledger[length](who, 'embed');
    return rows.map((row) => ({
      ...namedCounters('embed', row.amounts),
      about: row.subjectId,
      what: row.category,
    }));
  };
  return { store, clock, meter, ledger, embedded };
}

t.test('recorded usage is returned per minute, hour, day, month and in total', async (t) => {
  const { clock, meter, ledger, embedded } = build();
  meter.recordEmbed(embed);
  meter.recordEmbed(embed);
  await clock.advance(60_000);
  meter.recordEmbed(embed);
  await clock.advance(3_600_000);
  meter.recordEmbed({ ...embed, explicitCall: false });
  await meter.flush();
  const question = { organizationId, kind: 'embed', subjectIds: null } as const;
  const stretch = { startTime: Date.UTC(2026, 10, 21) / 1000, endTime: Date.UTC(2026, 10, 22) / 1000 - 1 };
  const counts = async (window: 'minutely' | 'hourly' | 'daily') => {
    const rows = await ledger.windows({ ...question, ...stretch, window });
    return rows.map((row) => [row.windowStart, row.category, row.amounts[0], row.amounts[1]]);
  };
  const at = (hour: number, minute: number) => Date.UTC(2026, 10, 21, hour, minute) / 1000;
  t.same(await counts('minutely'), [
    [at(10, 0), 'true', 2, 320],
    [at(10, 1), 'true', 1, 160],
    [at(11, 1), 'false', 1, 160],
  ]);
  t.same(await counts('hourly'), [
    [at(10, 0), 'true', 3, 480],
    [at(11, 0), 'false', 1, 160],
  ]);
  t.same(await counts('daily'), [
    [at(0, 0), 'false', 1, 160],
    [at(0, 0), 'true', 3, 480],
  ]);
  const called = {
    event_count: 3,
    total_request_bytes: 480,
    total_request_tokens: 12,
    total_time_taken_ms: 4.5,
  };
  t.match(await embedded('allTime'), [{ what: 'false' }, { ...called, about: 'zembed-1', what: 'true' }]);
  t.match(await embedded('thisMonth'), [{ what: 'false' }, called]);
});

t.test('a new month starts at zero, the total continues', async (t) => {
  const { clock, meter, embedded } = build({
    clock: new FakeClock({ wall: Date.UTC(2026, 10, 30, 23, 59, 59) }),
  });
  meter.recordEmbed(embed);
  await meter.flush();
  await clock.advance(1_000);
  t.same(await embedded('thisMonth'), []);
  t.match(await embedded('allTime'), [{ event_count: 1 }]);
});

t.test('totals continue after a restart, in the same minute too', async (t) => {
  const store = new MemoryStore();
  const clock = new FakeClock();
  for (let run = 0; run < 3; run += 1) {
    const { meter } = build({ store, clock });
    meter.recordEmbed(embed);
    await meter.close();
    await meter.close();
  }
  t.match(await build({ store, clock }).embedded(), [{ event_count: 3, total_request_bytes: 480 }]);
});

t.test('repeated flushes count nothing twice', async (t) => {
  const { meter, embedded } = build();
  meter.recordEmbed(embed);
  await Promise.all([meter.flush(), meter.flush(), meter.tryFlush()]);
  meter.recordEmbed(embed);
  await Promise.all([meter.flush(), meter.flush()]);
  t.match(await embedded(), [{ event_count: 2 }]);
  t.equal(meter.pending, 0);
});

t.test('a failed write neither loses nor doubles usage', async (t) => {
  const store = new FailingStore();
  const { meter, embedded } = build({ store });
  meter.recordEmbed(embed);
  store.failures = 2;
  await t.rejects(meter.flush(), /no space/);
  meter.recordEmbed(embed);
  await meter.tryFlush();
  t.equal(meter.pending, 1, 'settle logs the error and keeps the usage');
  meter.recordEmbed({ ...embed, model: 'other' });
  await meter.flush();
  t.match(await embedded(), [{ event_count: 1 }, { event_count: 2 }]);
});

t.test('when only the second part of a long write fails, the first is not written again', async (t) => {
  const store = new FailingStore();
  const { meter, embedded } = build({ store });
  for (let i = 0; i < 1_500; i += 1) meter.recordEmbed({ ...embed, model: `m${i}` });
  const write = store.write.bind(store);
  store.write = (operations, options) => {
    store.failures = store.writes === 1 ? 1 : 0;
    return write(operations, options);
  };
  await t.rejects(meter.flush(), /no space/);
  t.equal(meter.pending, 500);
  await meter.flush();
  const rows = await embedded();
  t.equal(rows.length, 1_500);
  t.ok(rows.every((row) => row.event_count === 1));
});

t.test('memory is bounded while the store accepts no writes, and dropped usage is logged', async (t) => {
  const store = new FailingStore();
  store.failures = Number.POSITIVE_INFINITY;
  const logged: Readonly<Record<string, unknown>>[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: () => {},
    error: (fields) => logged.push(fields),
    child: () => logger,
  };
  const { meter, embedded } = build({ store, logger, pendingTotalsMax: 10 });
  for (let i = 0; i < 50; i += 1) meter.recordEmbed({ ...embed, model: `m${i}` });
  for (let i = 0; i < 50; i += 1) meter.recordEmbed({ ...embed, model: 'm0' });
  await meter.tryFlush();
  t.equal(meter.pending, 20);
  store.failures = 0;
  await meter.flush();
  t.same(logged, [{ events: 30 }]);
  const rows = await embedded();
  t.equal(rows.length, 20);
  t.match(rows[0], { about: 'm0', event_count: 51 });
});

t.test('many different counters are written before a read', async (t) => {
  const { meter, embedded } = build({ pendingTotalsMax: 10 });
  for (let i = 0; i < 10; i += 1) meter.recordEmbed({ ...embed, model: `m${i}` });
  while (meter.pending > 0) await new Promise((resolve) => setImmediate(resolve));
  await meter.flush();
  t.equal((await embedded()).length, 10);
});

t.test('a started meter writes periodically and stops when closed', async (t) => {
  const store = new MemoryStore();
  const clock = new FakeClock();
  const meter = new UsageMeter({ store, clock, logger: silentLogger, flushMs: 1 });
  meter.start();
  meter.start();
  meter.recordEmbed(embed);
  while (meter.pending > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  await meter.close();
  await store.close();
  meter.recordEmbed(embed);
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.equal(meter.pending, 1, 'no timer remains');
});

t.test('the count of a document is stored in the same write as the document', async (t) => {
  const { store, meter, ledger } = build();
  const never: WriteOperation = {
    type: 'expect',
    key: Uint8Array.of(1),
    holds: () => false,
    description: 'never',
  };
  await t.rejects(store.write([...meter.documentOperations(added), never]));
  t.same(await ledger.allTime(organizationId, 'documents'), []);
  await store.write(meter.documentOperations(added));
  meter.recordDocument(added);
  await meter.flush();
  const [row] = await ledger.allTime(organizationId, 'documents');
  t.match(row, { subjectId: collectionId, category: 'added' });
  t.same(namedCounters('documents', row?.amounts ?? []), {
    event_count: 2,
    total_file_size_bytes: 2_000,
    total_content_tokens: 400,
    total_llm_tokens: 0,
    total_embedding_tokens: 600,
    total_coarse_chunks: 4,
    total_fine_chunks: 18,
    total_pages: 6,
    total_time_taken_ms: 24,
  });
});

t.test('organizations and kinds are counted separately', async (t) => {
  const { meter, ledger, embedded } = build();
  meter.recordEmbed(embed);
  meter.recordEmbed({ ...embed, organizationId: otherOrganization, bytes: 5 });
  meter.recordRerank({ ...embed, documents: 2, inferenceMs: 1 });
  meter.recordQuery({
    organizationId,
    collectionId,
    type: 'fine',
    queryBytes: 7,
    queriedBytes: 90,
    queryTokens: 2,
    results: 10,
    timeTakenMs: 3,
  });
  await meter.flush();
  t.match(await embedded('allTime'), [{ event_count: 1, total_request_bytes: 160 }]);
  t.match(await embedded('allTime', otherOrganization), [{ event_count: 1, total_request_bytes: 5 }]);
  t.match(await ledger.allTime(organizationId, 'rerank'), [{ amounts: [1, 160, 4, 2, 1.5, 1] }]);
  t.match(await ledger.allTime(organizationId, 'queries'), [
    { category: 'fine', amounts: [1, 7, 90, 2, 10, 3] },
  ]);
  t.same(await ledger.allTime(organizationId, 'documents'), []);
});
