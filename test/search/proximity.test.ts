import type { ChunkHit } from '../../src/search/chunk-hits.ts';
import { addProximity, scoreProximity } from '../../src/search/proximity.ts';
import { analyzeQuery } from '../../src/text/query.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import t from '../support/tap.ts';

/** Chunk hit with the fields that the proximity score reads. */
const textWithWords = (text: string) => ({ chunk: { text, language: null } }) as unknown as ChunkHit;
const filler = 'lorem ipsum dolor sit amet '.repeat(6);

async function proximityScoresOf(query: string, texts: readonly string[], caller = cancellationTokenWith()) {
  const analyzed = analyzeQuery(query, []);
  const rowsOf = analyzed.words.map(() => 10);
  return scoreProximity(
    texts.map(textWithWords),
    analyzed,
    { rows: 1_000, rowsByGroup: rowsOf },
    { caller, yieldToEventLoop: () => null },
  );
}

t.test('words at the start, in order and close together score higher than scattered words', async (t) => {
  const [together, apart, behind, turned, half, none] = await proximityScoresOf('salted herring', [
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

t.test('rescoring never exceeds 1, and results that were not rescored keep their order', async (t) => {
  const best = { lead: 1, order: 1, nearness: 1 };
  t.equal(addProximity(1, best), 1);
  t.equal(addProximity(0, null), 0);
  t.ok(addProximity(0.5, { lead: 0, order: 0, nearness: 0 }) === addProximity(0.5, null));
  t.ok(addProximity(0.5, null) > addProximity(0.4, null));
});

t.test('scripts without spaces and queries of one word are rescored, too', async (t) => {
  const [scored, controller] = await proximityScoresOf('東京都庁', [`東京都庁の${filler}`, filler]);
  t.ok(scored!.lead > 0.9 && scored!.order > 0 && scored!.nearness > 0.9);
  t.same(controller, { lead: 0, order: 0, nearness: 0 });
  const [one] = await proximityScoresOf('herring', ['herring']);
  t.same([one!.lead, one!.order], [1, 0]);
});

t.test('a canceled caller ends proximity rescoring', async (t) => {
  const left = new Error('left');
  await t.rejects(
    proximityScoresOf('herring', ['herring'], cancellationTokenWith(AbortSignal.abort(left))),
    left,
  );
});
