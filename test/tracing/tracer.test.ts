import { systemClock } from '../../src/core/clock.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { limits } from '../../src/core/limits.ts';
import type { Logger } from '../../src/core/logger.ts';
import { SpanExporter, type SpanExporterOptions } from '../../src/tracing/span-exporter.ts';
import { Tracer } from '../../src/tracing/tracer.ts';
import { localEgress } from '../local-egress.ts';
import t, { type Test } from '../support/tap.ts';
import { startCollector } from './collector.ts';

const parentHeader = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const root = { name: 'top-snippets', kind: 'server', attributes: { status: 200 }, isError: false } as const;

function createExporter(t: Test, endpoint: string, options: Partial<SpanExporterOptions> = {}) {
  const counts = { exported: 0, dropped: 0 };
  const events: string[] = [];
  const record = (_: unknown, event: string) => void events.push(event);
  const logger: Logger = { debug: record, info: record, warn: record, error: record, child: () => logger };
  const countDropped = (spans: number) => {
    counts.dropped += spans;
  };
  const exporter = new SpanExporter({
    endpoint,
    headers: { 'x-key': 'secret' },
    source: { version: '1.2.3', instanceId: 'i' },
    egress: localEgress,
    logger,
    countDropped,
    intervalMs: 2 ** 30,
    countExported: (spans) => {
      counts.exported += spans;
    },
    ...options,
  });
  t.teardown(() => exporter.close());
  const create = (samplesPerThousand: number, clock = systemClock) =>
    new Tracer({ samplesPerThousand, exporter, clock, random: systemRandom, countDropped });
  return { exporter, counts, events, create };
}

t.test('a trace reaches the collector in OTLP', async (t) => {
  const collector = await startCollector(t);
  const { exporter, counts, create } = createExporter(t, collector.url);
  const before = BigInt(Date.now() - 1_000) * 1_000_000n;
  const trace = create(0).startRequest(parentHeader)!;
  trace.addSpan('search', systemClock.monotonic() - 2, { rows: 5, ratio: 0.5, wide: true });
  trace.end({ ...root, isError: true });
  await exporter.flush();
  t.match(trace.responseHeader, /^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
  const rootId = trace.responseHeader.split('-')[2];
  const common = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: /^[0-9a-f]{16}$/ };
  t.match(collector.spans, [
    {
      ...common,
      name: 'search',
      kind: 1,
      parentSpanId: rootId,
      status: {},
      attributes: { rows: '5', ratio: 0.5, wide: true },
    },
    {
      ...common,
      name: 'top-snippets',
      kind: 2,
      spanId: rootId,
      parentSpanId: 'b7ad6b7169203331',
      status: { code: 2 },
      attributes: { status: '200' },
    },
  ]);
  const [search] = collector.spans;
  const started = BigInt(search!.startTimeUnixNano);
  t.ok(started > before && BigInt(search!.endTimeUnixNano) - started >= 2_000_000n, 'times are nanoseconds');
  t.match(collector.requests, [
    {
      headers: { 'x-key': 'secret', 'content-type': 'application/json' },
      resource: { 'service.name': 'quarry', 'service.version': '1.2.3', 'service.instance.id': 'i' },
    },
  ]);
  t.same(counts, { exported: 2, dropped: 0 });
});

t.test('the caller decides, else the sampling ratio', async (t) => {
  const { create } = createExporter(t, 'http://127.0.0.1:1/');
  t.equal(create(0).startRequest(undefined), null);
  t.equal(create(0).startJob(), null);
  t.equal(create(1_000).startRequest(parentHeader.replace(/01$/, '00')), null, 'the caller does not record');
  t.not(create(1_000).startRequest('invalid'), null);
  const tracer = create(100);
  let sampled = 0;
  for (let i = 0; i < 10_000; i += 1) if (tracer.startJob() !== null) sampled += 1;
  t.ok(sampled > 700 && sampled < 1_300, `${sampled} of 10,000 at 10 %`);
});

t.test('callers cannot have more than a hundred traces recorded per second', async (t) => {
  let now = 5_000;
  const { create } = createExporter(t, 'http://127.0.0.1:1/');
  const tracer = create(0, { now: () => now, monotonic: () => now });
  const request = () => Array.from({ length: 150 }, () => tracer.startRequest(parentHeader));
  t.equal(request().filter((trace) => trace !== null).length, 100);
  now += 1_000;
  t.equal(request().filter((trace) => trace !== null).length, 100);
});

t.test('an unavailable collector is logged once, and its spans are sent later', async (t) => {
  const collector = await startCollector(t);
  const { exporter, counts, events, create } = createExporter(t, collector.url);
  collector.reply.status = 503;
  const tracer = create(1_000);
  tracer.startJob()!.end(root);
  await exporter.flush();
  await exporter.flush();
  t.same(events, ['trace export failed']);
  collector.reply.status = 200;
  await exporter.flush();
  t.same(events, ['trace export failed', 'trace export recovered']);
  t.same(counts, { exported: 1, dropped: 0 });
  collector.reply.status = 400;
  tracer.startJob()!.end(root);
  await exporter.flush();
  t.same(counts, { exported: 1, dropped: 1 }, 'rejected spans are not sent again');
  collector.reply.status = 200;
  collector.reply.body = '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"no"}}';
  tracer.startJob()!.end(root);
  await exporter.flush();
  t.same(counts, { exported: 1, dropped: 2 }, 'partly rejected spans are counted');
});

t.test('the queue and a trace are bounded', async (t) => {
  const { exporter, counts, create } = createExporter(t, 'http://127.0.0.1:1/');
  const trace = create(1_000).startJob()!;
  for (let i = 0; i < 100; i += 1) trace.addSpan('read', 0);
  trace.end(root);
  t.equal(counts.dropped, 100 - (limits.spansPerTraceMax - 1));
  await exporter.flush();
  counts.dropped = 0;
  const tracer = create(1_000);
  for (let i = 0; i < limits.spansQueuedMax; i += 1) tracer.startJob()!.end(root);
  t.equal(counts.dropped, limits.spansPerTraceMax, 'spans that do not fit are dropped');
  await exporter.close();
  t.equal(
    counts.dropped,
    limits.spansPerTraceMax + limits.spansQueuedMax,
    'a stop counts what it cannot send',
  );
});

t.test('a host that is not in the settings is not reached', async (t) => {
  const { exporter, counts, events, create } = createExporter(t, 'http://192.0.2.1:4318/v1/traces');
  create(1_000).startJob()!.end(root);
  await exporter.flush();
  t.same(events, ['trace export failed']);
  t.equal(counts.exported, 0);
});
