import { ModelLatencies } from '../../src/models/model-latencies.ts';
import t from '../support/tap.ts';

t.test('percentiles describe the last 512 successful calls of each model', async (t) => {
  let now = 0;
  const latencies = new ModelLatencies({ monotonic: () => now });
  const call = (model: string, ms: number) =>
    latencies.measure(model, async () => {
      now += ms;
      return ms;
    });
  t.equal(latencies.summarize('a'), null);
  t.equal(await call('a', 7), 7);
  t.same(latencies.summarize('a'), { calls: 1, p50Ms: 7, p95Ms: 7, p99Ms: 7 });
  for (let i = 1; i <= 100; i += 1) await call('b', i);
  t.same(latencies.summarize('b'), { calls: 100, p50Ms: 50, p95Ms: 95, p99Ms: 99 });
  for (let i = 0; i < 1_000; i += 1) await call('b', 3);
  t.same(latencies.summarize('b'), { calls: 512, p50Ms: 3, p95Ms: 3, p99Ms: 3 });
  const failure = latencies.measure('a', async () => {
    throw new Error('broken');
  });
  await t.rejects(failure, { message: 'broken' });
  t.equal(latencies.summarize('a')?.calls, 1, 'a failed call says nothing about the latency');
});
