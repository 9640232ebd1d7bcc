import { ProgressBar } from '../../src/cli/progress.ts';
import { RemainingTime } from '../../src/cli/remaining-time.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import type { Clock } from '../../src/core/clock.ts';
import t from '../support/tap.ts';

t.test('the time left follows the recent rate, and counts down between two changes', async (t) => {
  const left = new RemainingTime();
  left.record({ atMs: 0, done: 0, total: 100 });
  t.equal(left.estimateMs(0), null, 'no rate is known yet');
  left.record({ atMs: 10_000, done: 10, total: 100 });
  t.equal(left.estimateMs(10_000), 90_000);
  left.record({ atMs: 13_000, done: 10, total: 100 });
  t.equal(left.estimateMs(13_000), 87_000, 'a pause does not raise it');
  // The slow start leaves the window.
  for (let done = 11; done <= 50; done++) left.record({ atMs: 13_000 + (done - 10) * 400, done, total: 100 });
  t.equal(left.estimateMs(29_000), 20_000);
  t.equal(left.estimateMs(500_000), 0, 'it is never negative');
});

t.test('a line on a terminal is redrawn every second without news, until the end', async (t) => {
  let nowMs = 0;
  const written: string[] = [];
  const clock = { monotonic: () => nowMs } as unknown as Clock;
  const terminal = {
    isInteractive: true,
    isOutputTerminal: false,
    redrawLine: (text: string) => void written.push(text),
  } as unknown as Terminal;
  const ticks: (() => void)[] = [];
  const progress = new ProgressBar('uploading', terminal, clock, (tick) => {
    ticks.push(tick);
    return () => ticks.splice(0);
  });
  progress.update({ done: 0, total: 100, label: 'first' });
  nowMs = 10_000;
  progress.update({ done: 10, total: 100, label: 'second' });
  t.match(written.at(-1), /10 % second, 1:30 left/);
  nowMs = 11_000;
  for (const tick of ticks) tick();
  t.match(written.at(-1), /10 % second, 1:29 left/);
  progress.finish('done');
  t.same(ticks, []);
  t.match(written.at(-1), /done\n$/);
});
