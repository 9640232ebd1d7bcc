import t from '../support/tap.ts';
import { MeasurementWindows, type ProcessorTicks, parseProcessorTicks } from './measurement-windows.ts';
import { p99Of, ReplyRecord } from './request-generator.ts';

t.test('stolen time is the eighth number of the first line of /proc/stat', (t) => {
  const text = 'cpu  100 20 30 400 5 0 10 35 7 7\ncpu0 50 10 15 200 2 0 5 17 0 0\nintr 1\n';
  t.same(parseProcessorTicks(text), { total: 600, stolen: 35 });
  t.same(
    parseProcessorTicks('cpu  1 2 3 4\n'),
    { total: 10, stolen: 0 },
    'a kernel that reports no stolen time',
  );
  t.end();
});

/** Windows of 100 ticks each, of which the hypervisor takes the given numbers. */
function windowsWithStolenTicks(stolen: readonly number[]): MeasurementWindows {
  const readings: ProcessorTicks[] = [{ total: 0, stolen: 0 }];
  for (const ticks of stolen) {
    const { total, stolen: before } = readings.at(-1)!;
    readings.push({ total: total + 100, stolen: before + ticks });
  }
  return new MeasurementWindows(() => readings.shift() ?? null);
}

t.test('replies of disturbed windows are counted, but their latencies are not recorded', (t) => {
  const windows = windowsWithStolenTicks([2, 30, 0, 0]);
  const record = new ReplyRecord(windows);
  for (const milliseconds of [5, 500, 400, 6]) {
    record.record(milliseconds);
    windows.endWindow();
  }
  t.equal(record.count, 4);
  t.equal(record.latencies.values, 2, 'the disturbed window and the one after it are omitted');
  t.equal(p99Of(record), 6);
  t.match(windows, { count: 4, disturbedCount: 2 });
  t.equal(windows.reasonToSkip(), null);
  t.end();
});

t.test('a measurement is not judged when most of its windows are disturbed', (t) => {
  const windows = windowsWithStolenTicks([50, 50, 0]);
  for (let i = 0; i < 3; i++) windows.endWindow();
  t.match(windows.reasonToSkip(), /in 3 of 3 windows/);
  t.end();
});

t.test('without /proc every window counts', (t) => {
  const windows = new MeasurementWindows(() => null);
  const record = new ReplyRecord(windows);
  record.record(7);
  windows.endWindow();
  t.equal(record.latencies.values, 1);
  t.equal(windows.reasonToSkip(), null);
  t.end();
});
