import t from 'tap';
import type { Passage } from '../../src/search/passages.ts';
import { lookCloser, withLook } from '../../src/search/second-look.ts';
import { analyseQuery } from '../../src/text/query.ts';
import { callerWith } from '../base/caller.ts';

/** What a look sees of a passage. */
const passage = (text: string) => ({ chunk: { text, language: null } }) as unknown as Passage;
const filler = 'lorem ipsum dolor sit amet '.repeat(6);

async function looksOf(query: string, texts: readonly string[], caller = callerWith()) {
  const analysed = analyseQuery(query, []);
  const rowsOf = analysed.words.map(() => 10);
  return lookCloser(
    texts.map(passage),
    analysed,
    { rows: 1_000, rowsOf },
    { caller, yieldToEventLoop: () => null },
  );
}

t.test('words at the beginning, in order and near each other are told from words anywhere', async (t) => {
  const [together, apart, behind, turned, half, none] = await looksOf('salted herring', [
    `salted herring ${filler}`,
    `salted ${filler} herring`,
    `${filler} salted herring`,
    `herring salted ${filler}`,
    `${filler} herring`,
    filler,
  ]);
  t.ok(Math.abs(together!.lead - 1) < 1e-9 && Math.abs(together!.nearness - 1) < 1e-9);
  t.ok(together!.order > 0 && together!.order === behind!.order);
  t.same([apart!.order, turned!.order, half!.order], [0, 0, 0]);
  t.ok(Math.abs(apart!.lead - 0.5) < 1e-9 && Math.abs(apart!.nearness - 0.5) < 1e-9);
  t.same([behind!.lead, half!.lead], [0, 0]);
  t.ok(Math.abs(behind!.nearness - 1) < 1e-9 && Math.abs(half!.nearness - 0.5) < 1e-9);
  t.same(none, { lead: 0, order: 0, nearness: 0 });
});

t.test('what a look adds never passes 1, and what was not looked at keeps its order below', async (t) => {
  const best = { lead: 1, order: 1, nearness: 1 };
  t.equal(withLook(1, best), 1);
  t.equal(withLook(0, null), 0);
  t.ok(withLook(0.5, { lead: 0, order: 0, nearness: 0 }) === withLook(0.5, null));
  t.ok(withLook(0.5, null) > withLook(0.4, null));
});

t.test('scripts without spaces and queries of one word are looked at, too', async (t) => {
  const [there, gone] = await looksOf('東京都庁', [`東京都庁の${filler}`, filler]);
  t.ok(there!.lead > 0.9 && there!.order > 0 && there!.nearness > 0.9);
  t.same(gone, { lead: 0, order: 0, nearness: 0 });
  const [one] = await looksOf('herring', ['herring']);
  t.same([one!.lead, one!.order], [1, 0]);
});

t.test('a caller who has gone ends it', async (t) => {
  const left = new Error('left');
  await t.rejects(looksOf('herring', ['herring'], callerWith(AbortSignal.abort(left))), left);
});
