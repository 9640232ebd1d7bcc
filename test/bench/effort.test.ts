import t from 'tap';
import { effortFor, recallCurve } from '../../bench/harness/effort.ts';

const efforts = { least: 10, most: 1_000 };
/** Recall .9 at effort 50, .99 at 500. */
const rising = async (effort: number) => 1 - 5 / effort;

t.test('the least effort that reaches a recall is found to a few per cent', async (t) => {
  const curve = await recallCurve(efforts, rising);
  t.equal(curve[0]?.effort, 10);
  const found = await effortFor(0.9, curve, efforts, rising);
  t.ok(found !== null && found.recall >= 0.9 && found.effort >= 50 && found.effort <= 53, `${found?.effort}`);
});

t.test('a recall that no effort reaches is not claimed', async (t) => {
  const curve = await recallCurve(efforts, rising);
  t.ok(curve.every(({ effort }) => effort <= efforts.most));
  t.equal(await effortFor(0.9999, curve, efforts, rising), null);
});

t.test('what only the most effort reaches is reached', async (t) => {
  const enough = 1 - 5 / efforts.most;
  const curve = await recallCurve(efforts, rising);
  t.equal(curve.at(-1)?.effort, efforts.most);
  t.ok((await effortFor(enough, curve, efforts, rising)) !== null);
});

t.test('the curve ends where there is enough, and an exact engine has one point', async (t) => {
  const curve = await recallCurve(efforts, rising, 0.8);
  t.ok((curve.at(-1)?.recall ?? 0) >= 0.8 && (curve.at(-2)?.recall ?? 1) < 0.8);
  const exact = await recallCurve(null, async () => 1);
  t.same(exact, [{ effort: 1, recall: 1 }]);
  t.same(await effortFor(0.99, exact, null, async () => 1), exact[0]);
});
