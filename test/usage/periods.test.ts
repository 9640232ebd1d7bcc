import { coverSpans, minutesPerPeriod, periodAt } from '../../src/usage/periods.ts';
import t from '../support/tap.ts';

t.test('periods are numbered from 1970 in UTC, months by the calendar', async (t) => {
  const at = Date.UTC(2026, 10, 30, 23, 59, 59, 999);
  const rows = [
    ['minute', Math.floor(at / 60_000)],
    ['hour', Math.floor(at / 3_600_000)],
    ['day', Math.floor(at / 86_400_000)],
    ['month', 56 * 12 + 10],
    ['all', 0],
  ] as const;
  for (const [length, number] of rows) t.equal(periodAt(length, at), number, length);
  t.equal(periodAt('month', at + 1), 56 * 12 + 11);
  t.equal(periodAt('month', Date.UTC(2027, 0, 1)), 57 * 12);
});

const day = 1_440;
const cases = [
  ['nothing', { from: 5, to: 5 }, 'day', []],
  ['one minute', { from: 5, to: 6 }, 'day', [['minute', 5, 6]]],
  ['an exact hour', { from: 60, to: 120 }, 'day', [['hour', 1, 2]]],
  ['an exact hour in minutes', { from: 60, to: 62 }, 'minute', [['minute', 60, 62]]],
  ['hours only', { from: 0, to: day }, 'hour', [['hour', 0, 24]]],
  ['over midnight', { from: day - 1, to: day + 1 }, 'day', [['minute', day - 1, day + 1]]],
  [
    'ragged on both sides',
    { from: day - 61, to: 3 * day + 61 },
    'day',
    [
      ['minute', day - 61, day - 60],
      ['hour', 23, 24],
      ['day', 1, 3],
      ['hour', 72, 73],
      ['minute', 3 * day + 60, 3 * day + 61],
    ],
  ],
] as const;

t.test('a time range uses the fewest periods', async (t) => {
  for (const [name, minutes, longest, expected] of cases) {
    const spans = coverSpans(minutes, longest).map(({ length, from, to }) => [length, from, to]);
    t.same(spans, expected, name);
  }
});

t.test('the periods of a time range touch, never overlap, and cover exactly its minutes', async (t) => {
  for (let from = 0; from < 3_000; from += 137) {
    for (let to = from; to < from + 9_000; to += 331) {
      let at = from;
      for (const span of coverSpans({ from, to }, 'day')) {
        if (span.from * minutesPerPeriod(span.length) !== at) t.fail(`gap at ${at} in ${from}..${to}`);
        at = span.to * minutesPerPeriod(span.length);
      }
      if (at !== to) t.fail(`${from}..${to} ends at ${at}`);
    }
  }
  t.pass('all minutes are covered');
});
