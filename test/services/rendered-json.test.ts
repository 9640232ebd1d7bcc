import {
  RenderedJson,
  renderPages,
  renderWithList,
  renderWithText,
} from '../../src/services/rendered-json.ts';
import t from '../support/tap.ts';

const atOnce = () => null;

/** Texts whose slices end inside surrogate pairs and escapes, and at unpaired surrogates. */
const texts = [
  '',
  'short "text"',
  `${'x'.repeat(65_535)}😀${'y'.repeat(65_534)}😀 end`,
  `${'x'.repeat(65_535)}\ud800${'\n'.repeat(70_000)}`,
  '😀'.repeat(100_000),
  '\ud83d'.repeat(65_537),
];

t.test('a long text in slices is the JSON of the whole text', async (t) => {
  for (const content of [...texts, null]) {
    const object = { id: 7, absent: undefined, content, last: ['x'] };
    const reply = await renderWithText({ name: 'document', field: 'content' }, object, atOnce);
    t.equal(reply.toBytes().toString(), JSON.stringify({ document: object }));
  }
});

t.test('a list written item by item is the JSON of the whole list', async (t) => {
  for (const items of [[], [1], texts.map((text) => ({ text }))]) {
    const body = { id: 'x', absent: undefined, items, usage: { total: 1 } };
    const reply = await renderWithList('items', body, atOnce);
    t.equal(reply.toBytes().toString(), JSON.stringify(body));
  }
});

t.test('a list yields to the event loop before each item', async (t) => {
  let checks = 0;
  const countChecks = () => {
    checks += 1;
    return null;
  };
  await renderWithList('items', { items: Array.from({ length: 300 }, () => [0.5]) }, countChecks);
  t.equal(checks, 300);
});

t.test('a reply of pages equals JSON.stringify', async (t) => {
  for (const pages of [[], [''], ['a "quote"', '\u2028é😀', 'x'.repeat(200_000)]]) {
    const body = { pages, warnings: ['one'] };
    const reply = await renderPages(body, () => null);
    t.equal(reply.toBytes().toString(), JSON.stringify(body));
  }
});

t.test('the bytes of a reply are used once, copied only if they are in several chunks', async (t) => {
  const scratch = Buffer.alloc(100, 'x');
  const written = Buffer.from('{"a":"é"}');
  for (const [chunks, expected] of [
    [[written], written],
    [['{"a":', Buffer.from('"é"'), '}'], scratch],
    [['{"a":"é"}'], scratch],
  ] as const) {
    let released = 0;
    const reply = new RenderedJson(chunks, () => {
      released += 1;
    });
    reply.useBytes(scratch, (bytes) => {
      t.equal(Buffer.from(bytes).toString(), '{"a":"é"}');
      t.equal(bytes.buffer, expected.buffer);
      t.equal(released, 0);
    });
    t.equal(released, 1);
    t.throws(() => reply.toBytes(), 'its memory may have another content');
  }
});
