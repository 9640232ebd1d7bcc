import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPassageSet } from '../../src/eval/passage-set.ts';
import t, { type Test } from '../support/tap.ts';

/** The snowman and the wing are one code point each, of one and two UTF-16 units. */
const report = '🪽 lift ☃ drag';
const lift = { content: 'lift', start_index: 2, end_index: 6 };
const drag = { start_index: 9, end_index: 13 };

function folderOf(t: Test, question: object | null): string {
  const folder = t.testdir();
  mkdirSync(join(folder, 'corpora'));
  writeFileSync(join(folder, 'corpora', 'report.md'), report);
  writeFileSync(join(folder, 'corpora', 'picture.png'), 'no text');
  const line =
    question === null ? '' : `${JSON.stringify({ _id: 'q1', text: 'what lifts?', ...question })}\n`;
  writeFileSync(join(folder, 'queries.jsonl'), line);
  return folder;
}

t.test('documents and their marked passages are read', async (t) => {
  const set = await readPassageSet(folderOf(t, { corpus: 'report', spans: [lift, drag] }));
  t.same(set.documents, [{ id: 'report', text: report }]);
  const passages = [
    { document: 'report', start: 2, end: 6 },
    { document: 'report', start: 9, end: 13 },
  ];
  t.same(set.questions, [{ id: 'q1', text: 'what lifts?', passages }]);
});

t.test('an error names its file and line', async (t) => {
  const wrong: readonly [object | null, RegExp][] = [
    [null, /queries\.jsonl has no questions/],
    [{ spans: [lift] }, /queries\.jsonl, line 1: unknown document in "corpus": undefined/],
    [{ corpus: 'gone', spans: [lift] }, /unknown document in "corpus": gone/],
    [{ corpus: 'report' }, /"spans" must contain at least one span/],
    [{ corpus: 'report', spans: [] }, /"spans" must contain at least one span/],
    [{ corpus: 'report', spans: [null] }, /must be integers/],
    [{ corpus: 'report', spans: [{ start_index: 0, end_index: 1.5 }] }, /must be integers/],
    [{ corpus: 'report', spans: [{ start_index: 9, end_index: 14 }] }, /span 9-14 is outside/],
    [{ corpus: 'report', spans: [{ start_index: 3, end_index: 3 }] }, /span 3-3 is outside/],
    [
      { corpus: 'report', spans: [{ ...lift, start_index: 1 }] },
      /"content" does not match the document text from 1/,
    ],
  ];
  for (const [question, message] of wrong) {
    await t.rejects(readPassageSet(folderOf(t, question)), { code: 'bad_request', message });
  }
  await t.rejects(readPassageSet(t.testdir()), /The folder .*corpora cannot be read: ENOENT/);
});
