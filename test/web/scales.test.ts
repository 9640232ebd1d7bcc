import t from '../support/tap.ts';
import { importWebModule } from './import-web-module.ts';

const { scaleEnd, percentChange } = await importWebModule<{
  scaleEnd: (highest: number) => number;
  percentChange: (before: number, after: number) => number | null;
}>('format/scales.ts');

t.test('the end and the middle of a scale are round numbers', async (t) => {
  const cases = [
    ...[
      [0, 2],
      [1, 2],
      [2, 2],
      [3, 4],
      [7, 8],
      [9, 10],
      [10, 10],
      [11, 12],
      [17, 20],
      [41, 50],
      [99, 100],
    ],
    ...[
      [1_000, 1_000],
      [1_001, 1_200],
      [8_100, 10_000],
    ],
  ];
  for (const [highest = 0, end] of cases) t.equal(scaleEnd(highest), end, String(highest));
});

t.test('a change in percent is rounded and needs a value before', async (t) => {
  t.equal(percentChange(0, 5), null);
  t.equal(percentChange(4, 5), 25);
  t.equal(percentChange(3, 2), -33);
  t.equal(percentChange(3, 0), -100);
  t.equal(percentChange(3, 3), 0);
});
