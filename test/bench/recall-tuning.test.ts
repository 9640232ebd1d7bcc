import { findEf, measureRecallCurve } from '../../bench/harness/recall-tuning.ts';
import t from '../support/tap.ts';

const efValues = { min: 10, max: 1_000 };
/** Recall is 0.9 at ef 50 and 0.99 at ef 500. */
const rising = async (ef: number) => 1 - 5 / ef;

t.test('the lowest efSearch that reaches a recall is found within a few percent', async (t) => {
  const curve = await measureRecallCurve(efValues, rising);
  t.equal(curve[0]?.ef, 10);
  const found = await findEf(0.9, curve, efValues, rising);
  t.ok(found !== null && found.recall >= 0.9 && found.ef >= 50 && found.ef <= 53, `${found?.ef}`);
});

t.test('a recall that no efSearch reaches is not reported as reached', async (t) => {
  const curve = await measureRecallCurve(efValues, rising);
  t.ok(curve.every(({ ef }) => ef <= efValues.max));
  t.equal(await findEf(0.9999, curve, efValues, rising), null);
});

t.test('a recall that only the highest efSearch reaches is found', async (t) => {
  const enough = 1 - 5 / efValues.max;
  const curve = await measureRecallCurve(efValues, rising);
  t.equal(curve.at(-1)?.ef, efValues.max);
  t.ok((await findEf(enough, curve, efValues, rising)) !== null);
});

t.test('the curve ends at a sufficient recall, and an exact engine has one point', async (t) => {
  const curve = await measureRecallCurve(efValues, rising, 0.8);
  t.ok((curve.at(-1)?.recall ?? 0) >= 0.8 && (curve.at(-2)?.recall ?? 1) < 0.8);
  const exact = await measureRecallCurve(null, async () => 1);
  t.same(exact, [{ ef: 1, recall: 1 }]);
  t.same(await findEf(0.99, exact, null, async () => 1), exact[0]);
});
