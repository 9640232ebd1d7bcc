import { silentLogger } from '../../src/core/logger.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { UsageLedger, type WindowQuery } from '../../src/usage/ledger.ts';
import { UsageMeter } from '../../src/usage/meter.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import t from '../support/tap.ts';

const organizationId = '11111111-1111-4111-8111-111111111111';
const begin = Date.UTC(2026, 1, 26, 22, 0);

/** Records a query every 7 minutes for ten days, alternating between three collections, with distinct result counts. */
async function build() {
  const store = new MemoryStore();
  const clock = new FakeClock({ wall: begin });
  const meter = new UsageMeter({ store, clock, logger: silentLogger });
  const recordedQueries: { second: number; collection: string; results: number }[] = [];
  const collections = ['a', 'b', 'c'].map((c) => `${c.repeat(8)}-1111-4111-8111-111111111111`);
  while (clock.now() < begin + 10 * 86_400_000) {
    const collection = collections[recordedQueries.length % 3] ?? '';
    const results = recordedQueries.length;
    meter.recordQuery({
      organizationId,
      collectionId: collection,
      type: 'coarse',
      queryBytes: 1,
      queriedBytes: 1,
      queryTokens: 1,
      results,
      timeTakenMs: 0.5,
    });
    recordedQueries.push({ second: clock.now() / 1000, collection, results });
    await clock.advance(7 * 60_000);
  }
  await meter.flush();
  return { ledger: new UsageLedger({ store, clock }), recordedQueries, collections };
}

t.test('each time range in each window sums exactly its events', async (t) => {
  const { ledger, recordedQueries, collections } = await build();
  const seconds = { minutely: 60, hourly: 3_600, daily: 86_400 } as const;
  const first = begin / 1000;
  const stretches = [
    [0, 0],
    [0, 59],
    [60, 419],
    [420, 420],
    [3_599, 3_600],
    [100, 86_400 * 2 + 12_345],
    [7_200, 86_400 * 3 + 7_199],
    [-500_000, 86_400 * 30],
    [86_400 * 20, 86_400 * 21],
  ];
  for (const window of ['minutely', 'hourly', 'daily'] as const) {
    for (const [from = 0, to = 0] of stretches) {
      const question: WindowQuery = {
        organizationId,
        kind: 'queries',
        startTime: first + from,
        endTime: first + to,
        window,
        subjectIds: null,
      };
      const expected = new Map<string, number[]>();
      for (const { second, collection, results } of recordedQueries) {
        const inside = second >= Math.floor((first + from) / 60) * 60 && second <= first + to;
        if (!inside) continue;
        const key = `${Math.floor(second / seconds[window]) * seconds[window]} ${collection}`;
        const [count = 0, sum = 0] = expected.get(key) ?? [];
        expected.set(key, [count + 1, sum + results]);
      }
      const rows = await ledger.windows(question);
      const got = new Map(
        rows.map((row) => [`${row.windowStart} ${row.subjectId}`, [row.amounts[0], row.amounts[4]]]),
      );
      t.same(got, expected, `${window} ${from}..${to}: ${rows.length} rows`);
      t.same(
        rows.map((row) => row.windowStart),
        rows.map((row) => row.windowStart).sort((a, b) => a - b),
        'oldest first',
      );
      const only = await ledger.windows({ ...question, subjectIds: new Set([collections[1] ?? '']) });
      t.same(
        only,
        rows.filter((row) => row.subjectId === collections[1]),
      );
      t.same(await ledger.windows({ ...question, subjectIds: new Set() }), []);
    }
  }
});
