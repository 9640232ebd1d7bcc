import { type ChunkedText, type ChunkingInput, chunkDocument } from '../../src/chunking/chunk-document.ts';
import { limits } from '../../src/core/limits.ts';
import t from '../support/tap.ts';
import { randomMixedText, randomProse, seededRandom } from './sample-texts.ts';

const seed = 20261121;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

function chunk(pages: readonly string[], overrides: Partial<ChunkingInput> = {}): ChunkedText {
  return chunkDocument({ pages, unordered: false, title: null, path: 'folder/file.txt', ...overrides });
}

/** The first violated invariant of the chunks; null if all hold. */
function brokenInvariant(pages: readonly string[], document: ChunkedText, unordered: boolean): string | null {
  const text = pages.join('\n\n');
  const codePoints = Array.from(text);
  const pageOf = (codePoint: number) => document.pageStarts.findLastIndex((start) => start <= codePoint);
  if (document.text !== text) return 'text is the joined pages';
  if (document.length !== codePoints.length) return 'length counts code points';
  for (const [index, page] of pages.entries()) {
    const start = document.pageStarts[index] ?? -1;
    if (codePoints.slice(start, start + Array.from(page).length).join('') !== page) return 'page starts';
  }
  const insideSeparators = new Set(document.pageStarts.slice(1).map((start) => start - 1));
  let position = 0;
  for (const coarse of document.chunks) {
    if (coarse.start !== position || coarse.end <= coarse.start) return `coarse tile at ${position}`;
    if (coarse.text !== codePoints.slice(coarse.start, coarse.end).join(''))
      return 'coarse text is its slice';
    if (coarse.text.length > limits.coarseChunkUnitsMax * 2) return 'coarse size has a bound';
    if (coarse.pageStart !== pageOf(coarse.start))
      return 'page span starts at the page of the first character';
    if (coarse.pageEnd !== pageOf(coarse.end - 1) + 1)
      return 'page span ends after the page of the last character';
    if (unordered && coarse.pageEnd !== coarse.pageStart + 1) return 'unordered pages are not crossed';
    if (coarse.blank !== (coarse.text.replace(/[\p{Cc}\s]/gu, '') === '')) return 'coarse blank';
    if (coarse.prefix.length > limits.chunkPrefixUnitsMax) return 'prefix size';
    let inner = 0;
    let innerCodePoint = coarse.start;
    for (const child of coarse.children) {
      if (child.start !== inner || child.end <= child.start) return 'precise tile';
      if (child.startCodePoint !== innerCodePoint) return 'precise code points';
      const content = coarse.text.slice(child.start, child.end);
      if (content !== codePoints.slice(child.startCodePoint, child.endCodePoint).join(''))
        return 'precise slice';
      if (content.length > limits.fineChunkUnitsMax * 2) return 'precise size has a bound';
      if (child.blank !== (content.replace(/[\p{Cc}\s]/gu, '') === '')) return 'precise blank';
      if (insideSeparators.has(child.endCodePoint)) return 'separators are not cut';
      inner = child.end;
      innerCodePoint = child.endCodePoint;
    }
    if (inner !== coarse.text.length || innerCodePoint !== coarse.end) return 'children tile their parent';
    position = coarse.end;
  }
  return position === codePoints.length ? null : 'chunks reach the end';
}

/**
 * Boundaries of fine chunks, and so of coarse ones, inside a grapheme that would fit into a chunk. Runs page by page,
 * because Intl.Segmenter is slow on long strings; the separators between pages end every grapheme.
 */
function splitGraphemes(pages: readonly string[], document: ChunkedText): number[] {
  const cuts: number[] = [];
  let unit = 0;
  for (const coarse of document.chunks) {
    for (const child of coarse.children) cuts.push(unit + child.end);
    unit += coarse.text.length;
  }
  const split: number[] = [];
  let pageStart = 0;
  for (const page of pages) {
    const segments = graphemes.segment(page);
    for (const cut of cuts) {
      if (cut <= pageStart || cut >= pageStart + page.length) continue;
      const { index, segment } = segments.containing(cut - pageStart)!;
      if (pageStart + index < cut && segment.length <= limits.fineChunkUnitsMax) split.push(cut);
    }
    pageStart += page.length + 2;
  }
  return split;
}

t.test('chunks of both granularities tile any text, nest, and count code points', async (t) => {
  t.comment(`seed ${seed}`);
  const random = seededRandom(seed);
  for (let round = 0; round < 150; round += 1) {
    const pages = Array.from({ length: Math.floor(random() * 14) }, () =>
      random() < 0.2 ? '' : randomMixedText(random, Math.floor(random() ** 3 * 6_000)),
    );
    const unordered = random() < 0.5;
    const document = chunk(pages, { unordered });
    const broken = brokenInvariant(pages, document, unordered);
    if (broken !== null) t.fail(`round ${round}: ${broken}`);
    const split = splitGraphemes(pages, document);
    if (split.length > 0) t.fail(`round ${round}: graphemes split at ${split.slice(0, 5).join()}`);
  }
  t.pass('150 random documents');
});

t.test('a document without pages and one with empty pages have no chunks', async (t) => {
  t.same(chunk([]), { text: '', chunks: [], pageStarts: [], length: 0 });
  t.same(chunk(['']), { text: '', chunks: [], pageStarts: [0], length: 0 });
  const empties = chunk(['', '', '']);
  t.same(empties.pageStarts, [0, 2, 4]);
  t.ok(empties.chunks.every((coarse) => coarse.blank && coarse.children.every((child) => child.blank)));
  t.equal(brokenInvariant(['', '', ''], empties, false), null);
});

t.test('the separator counts in offsets and belongs to the chunk of the page before it', async (t) => {
  const { chunks, pageStarts, length } = chunk(['😀one', 'two'], { unordered: true });
  t.same(pageStarts, [0, 6]);
  t.equal(length, 9);
  t.same(
    chunks.map(({ text, start, end, pageStart, pageEnd }) => ({ text, start, end, pageStart, pageEnd })),
    [
      { text: '😀one\n\n', start: 0, end: 6, pageStart: 0, pageEnd: 1 },
      { text: 'two', start: 6, end: 9, pageStart: 1, pageEnd: 2 },
    ],
  );
});

t.test('a chunk may span ordered pages and records them', async (t) => {
  const { chunks } = chunk(['one', '', 'three']);
  t.equal(chunks.length, 1);
  t.same([chunks[0]?.pageStart, chunks[0]?.pageEnd], [0, 3]);
});

t.test('chunks are about 2,000 and about 200 characters on average', async (t) => {
  const { chunks } = chunk([randomProse(seededRandom(seed), 400_000)]);
  const children = chunks.flatMap((coarse) => coarse.children);
  const mean = (lengths: number[]) => lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
  const coarseMean = mean(chunks.map((coarse) => coarse.text.length));
  const preciseMean = mean(children.map((child) => child.end - child.start));
  t.ok(coarseMean > 1_800 && coarseMean < 2_200, `coarse mean ${coarseMean.toFixed(0)}`);
  t.ok(preciseMean > 170 && preciseMean < 230, `precise mean ${preciseMean.toFixed(0)}`);
});

t.test('splits prefer the ends of sentences and paragraphs', async (t) => {
  const { chunks } = chunk([randomProse(seededRandom(seed), 200_000)]);
  const children = chunks.flatMap((coarse) =>
    coarse.children.map((child) => coarse.text.slice(child.start, child.end)),
  );
  const whole = children.filter((content) => /[.]\s+$/.test(content));
  t.ok(whole.length / children.length > 0.95, `${whole.length} of ${children.length} end with a sentence`);
});

t.test('an insertion changes only the chunks around it', async (t) => {
  const text = randomProse(seededRandom(seed), 300_000);
  const before = new Set(chunk([text]).chunks.map((coarse) => coarse.text));
  const after = chunk([`${text.slice(0, 5_000)}One sentence more. ${text.slice(5_000)}`]).chunks;
  const changed = after.filter((coarse) => !before.has(coarse.text));
  t.ok(changed.length <= 6, `${changed.length} of ${after.length} changed`);
});

const hostile: readonly (readonly [string, string])[] = [
  ['5 MB without a space', 'x'.repeat(5_000_000)],
  ['2M newlines', '\n'.repeat(2_000_000)],
  ['2M CR LF', '\r\n'.repeat(1_000_000)],
  ['5 MB of spaces', ' '.repeat(5_000_000)],
  ['2M combining marks', `a${'\u0301'.repeat(2_000_000)}`],
  ['2M zero width joiners', '\u200d'.repeat(2_000_000)],
  ['joined emoji', '👩‍👩‍👧‍👦'.repeat(200_000)],
  ['flags', '🇩🇪'.repeat(500_000)],
  ['5 MB of Chinese', '天地玄黄宇宙洪荒'.repeat(625_000)],
  ['Thai without spaces', 'ภาษาไทยไม่มีช่องว่าง'.repeat(100_000)],
  ['heading-like lines', '# A\n'.repeat(500_000)],
  ['underline-like lines', '---\n'.repeat(500_000)],
  ['hashes', `${'#'.repeat(190)}\n`.repeat(10_000)],
  ['lone surrogates', '\ud800'.repeat(1_000_000)],
];

for (const [name, text] of hostile) {
  t.test(`adversarial text is split into bounded chunks: ${name}`, async (t) => {
    const { chunks, length } = chunk([text]);
    t.equal(chunks.map((coarse) => coarse.text).join('') === text, true, 'tiles');
    t.equal(chunks.at(-1)?.end, length);
    t.ok(chunks.every((coarse) => coarse.text.length <= limits.coarseChunkUnitsMax * 2));
    t.ok(
      chunks.every((coarse) =>
        coarse.children.every((child) => child.end - child.start <= limits.fineChunkUnitsMax * 2),
      ),
    );
    t.ok(chunks.length <= Math.ceil(text.length / 500), `${chunks.length} chunks`);
  });
}

t.test('a hundred thousand tiny unordered pages become one chunk each', async (t) => {
  const pages = Array.from({ length: 100_000 }, (_, index) => `row ${index}`);
  const { chunks } = chunk(pages, { unordered: true });
  t.equal(chunks.length, pages.length);
  t.equal(chunks.at(-1)?.pageStart, pages.length - 1);
});

t.test('a chunk starts at a heading rather than in the middle of a section', async (t) => {
  const random = seededRandom(seed);
  const sections = Array.from(
    { length: 12 },
    (_, index) => `## Part ${index}\n\n${randomProse(random, 1_900)}\n\n`,
  );
  const { chunks } = chunk([sections.join('')]);
  const atHeading = chunks.filter((coarse) => coarse.text.startsWith('## Part'));
  t.ok(atHeading.length >= 11, `${atHeading.length} of ${chunks.length} chunks start with their heading`);
  t.equal(chunks.at(-1)?.prefix, 'file.txt > Part 11');
});

t.test('identical input gives identical chunks', async (t) => {
  const text = randomMixedText(seededRandom(seed), 50_000);
  t.same(chunk([text]), chunk([text]));
});
