import { deflateSync } from 'node:zlib';
import { defaultParseLimits } from '../../../src/parsing/limits.ts';
import { parseDocument } from '../../../src/parsing/parse.ts';
import { ParseFailure, type ParseFailureCode } from '../../../src/parsing/parse-failure.ts';
import type { ParsedDocument } from '../../../src/parsing/process/parse-task.ts';
import t from '../../support/tap.ts';
import { flipRandomBits, truncateBytes, utf8 } from '../byte-fixtures.ts';
import { buildPdf, buildPdfWithPlacedText } from '../pdf-fixtures.ts';

/** Expected outcome: page texts (or patterns), or a failure with one of these codes. */
type ExpectedOutcome =
  | { readonly pages: readonly (string | RegExp)[]; readonly warning?: RegExp }
  | { readonly fails: readonly ParseFailureCode[] }
  /** Any document, or any failure with a message. */
  | 'anything sound';

async function outcomeOf(bytes: Uint8Array): Promise<ParsedDocument | ParseFailure> {
  const stream = parseDocument(bytes, 'file.pdf', defaultParseLimits);
  const pages: string[] = [];
  try {
    for (;;) {
      const step = await stream.next();
      if (step.done === true) return { ...step.value, pages };
      pages.push(step.value.text);
    }
  } catch (error) {
    if (error instanceof ParseFailure) return error;
    throw error;
  }
}

const sentence = 'The quick brown fox jumps over the lazy dog.';
const sound = buildPdf([sentence, 'A second page.', 'A third one.']);
const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

/** Packs all objects that are not streams into an object stream, and cuts the file off before the cross-reference table. */
function objectStream(bytes: Uint8Array): Uint8Array {
  const bodies: [number: string, body: string][] = [];
  const streams = latin1(bytes)
    .replace(/xref\n[\s\S]*$/, '')
    .replace(/(\d+) 0 obj\n((?:(?!stream|endobj)[\s\S])*)\nendobj\n/g, (_, number: string, body: string) => {
      bodies.push([number, body]);
      return '';
    });
  let offset = 0;
  const offsets = bodies.map(([number, body]) => {
    const xrefEntry = `${number} ${offset} `;
    offset += body.length + 1;
    return xrefEntry;
  });
  const first = offsets.join('').length;
  const content = offsets.join('') + bodies.map(([, body]) => body).join(' ');
  const data = deflateSync(Buffer.from(content, 'latin1'));
  const head = `3000 0 obj\n<</Type/ObjStm/N ${bodies.length}/First ${first}/Length ${data.length}/Filter/FlateDecode>>\nstream\n`;
  return Buffer.concat([Buffer.from(streams + head, 'latin1'), data, utf8('\nendstream\nendobj\n')]);
}

/** Overwrites these objects with zeros. */
function withoutXrefEntries(bytes: Uint8Array, ...numbers: readonly number[]): Uint8Array {
  const objects = new RegExp(`\\n(?:${numbers.join('|')}) 0 obj\\n(?:(?!endobj)[\\s\\S])*endobj`, 'g');
  return Buffer.from(
    latin1(bytes).replace(objects, (object) => '\0'.repeat(object.length)),
    'latin1',
  );
}

/** Page in a font with custom character codes, with or without a map to Unicode. */
function withFont(font: readonly string[], content: string): Uint8Array {
  return buildPdf([''], {
    resources: '/XObject<<>>/Font<</F1 3 0 R/F9 1000 0 R>>',
    content: Buffer.from(content, 'latin1'),
    objects: font,
  });
}

/** Composite font with a map from two-byte codes to Unicode; no glyphs are embedded. */
function mapped(pairs: Readonly<Record<string, string>>, widths = '/DW 1000'): readonly string[] {
  const rows = Object.entries(pairs).map(([code, character]) => {
    return `<${code}> <${Buffer.from(character, 'utf16le').swap16().toString('hex')}>`;
  });
  const map = `/CIDInit /ProcSet findresource begin begincmap /CMapName /M def 1 begincodespacerange <0000> <ffff> endcodespacerange ${rows.length} beginbfchar ${rows.join(' ')} endbfchar endcmap end`;
  return [
    `<</Type/Font/Subtype/Type0/BaseFont/Some/Encoding/Identity-H/DescendantFonts[1001 0 R]/ToUnicode 1002 0 R>>`,
    `<</Type/Font/Subtype/CIDFontType2/BaseFont/Some/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>${widths}/FontDescriptor 1003 0 R>>`,
    `<</Length ${map.length}>>\nstream\n${map}\nendstream`,
    '<</Type/FontDescriptor/FontName/Some/Flags 4/FontBBox[0 -200 1000 900]/ItalicAngle 0/Ascent 800/Descent -200/CapHeight 700/StemV 80>>',
  ];
}

const shown = (hex: string) => `BT /F9 12 Tf 72 700 Td <${hex}> Tj ET`;

/** Characters at separate positions, one below the other. */
const stacked = (x: number, codes: readonly string[]) =>
  codes.map((code, i) => `1 0 0 1 ${x} ${700 - i * 12} Tm <${code}> Tj`).join(' ');

/** A letter with two marks, in either order. */
const twoVowels = /^\u05e9[\u05c1\u05b8]{2}\u05dc\u05d5\u05dd$/;

/** Page with form fields; the first bracket closes the resources opened by the fixture. */
function withFields(texts: readonly string[]): Uint8Array {
  return buildPdfWithPlacedText(
    [texts.map((_, i) => ({ text: `Question ${i + 1}:`, x: 60, y: 700 - i * 30 }))],
    {
      resources: `>>/Annots[${texts.map((_, i) => `${1_000 + i} 0 R`).join(' ')}]/Nothing<<`,
      objects: texts.map(
        (text, i) =>
          `<</Type/Annot/Subtype/Widget/FT/Tx/F 4/T(f${i})/V(${text})/Rect[200 ${694 - i * 30} 500 ${714 - i * 30}]>>`,
      ),
    },
  );
}

/** Page tree with the given number of references to one page. */
function pageTree(pages: number): Uint8Array {
  const kids = Array.from({ length: pages }, () => '3 0 R').join(' ');
  return utf8(
    `%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Count ${pages}/Kids[${kids}]>>\nendobj\n3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>\nendobj\ntrailer\n<</Root 1 0 R>>\n%%EOF\n`,
  );
}

const image =
  '<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>\nstream\n0\nendstream';

const cases: readonly (readonly [title: string, bytes: Uint8Array, wanted: ExpectedOutcome])[] = [
  ['only the first line of a PDF', utf8('%PDF-1.7\n'), { fails: ['corrupt'] }],
  [
    'a header and random bytes',
    Buffer.concat([utf8('%PDF-1.7\n'), flipRandomBits(new Uint8Array(3_000), 1, 9_000)]),
    { fails: ['corrupt'] },
  ],
  ['a web page named .pdf', utf8(`<!doctype html><p>${sentence}`), { pages: [sentence] }],
  ['the first half', truncateBytes(sound, 0.5), 'anything sound'],
  ['all but the last tenth', truncateBytes(sound, 0.9), 'anything sound'],
  ['all but the end mark', sound.subarray(0, -8), { pages: [sentence, 'A second page.', 'A third one.'] }],
  [
    'pages whose contents were lost with the end of the file',
    Buffer.from(
      latin1(sound)
        .replace(/\/Contents \d+ 0 R/g, '')
        .replace(/xref[\s\S]*$/, ''),
      'latin1',
    ),
    { fails: ['corrupt'] },
  ],
  [
    'a cross-reference table with wrong offsets',
    Buffer.from(latin1(sound).replace(/^\d{10} 00000 n/gm, '0000000007 00000 n'), 'latin1'),
    { pages: [sentence, /second/, /third/] },
  ],
  ...(
    [
      ['a missing page tree', withoutXrefEntries(sound, 2)],
      ['neither a catalog nor a page tree', withoutXrefEntries(sound, 1, 2)],
      ['packed objects without a cross-reference table', objectStream(sound)],
      ['packed objects without a page tree', objectStream(withoutXrefEntries(sound, 2))],
    ] as const
  ).map(([title, bytes]) => {
    return [title, bytes, { pages: [sentence, /second/, /third/], warning: /damaged/ }] as const;
  }),
  ['truncated packed objects', objectStream(sound).subarray(0, -120), 'anything sound'],
  [
    'too many packed objects',
    objectStream(buildPdf(Array(5_100).fill(''))),
    { fails: ['too_large', 'corrupt'] },
  ],
  ['a blank page', buildPdf(['']), { pages: [''], warning: /contain no text/ }],
  [
    'contents that cannot be decompressed',
    Buffer.from(
      latin1(buildPdf([sentence, sentence])).replace(
        /(\/FlateDecode>>\nstream\n[\s\S]{2})[\s\S]{12}/g,
        (_, head: string) => head + '\xff'.repeat(12),
      ),
      'latin1',
    ),
    { pages: ['', ''], warning: /^These pages are damaged and were left empty: 1-2\.$/ },
  ],
  ['no pages', buildPdf([]), { fails: ['corrupt'] }],
  ['a user password', buildPdf([sentence], { userPassword: 'secret' }), { fails: ['encrypted'] }],
  ['an owner password only', buildPdf([sentence], { userPassword: '' }), { pages: [sentence] }],
  [
    'a count that is too large',
    buildPdf([sentence], { claimedPageCount: 3 }),
    { pages: [sentence, '', ''], warning: /damaged/ },
  ],
  ['a count beyond the number range', buildPdf([sentence], { claimedPageCount: 2 ** 31 }), 'anything sound'],
  ['a count below zero', buildPdf([sentence], { claimedPageCount: -5 }), 'anything sound'],
  ['200,000 pages', pageTree(200_000), { fails: ['too_large', 'corrupt'] }],
  [
    'a page as large as a country',
    buildPdf([sentence], { mediaBox: [0, 0, 1e9, 1e9] }),
    { pages: [sentence] },
  ],
  ['a page without a size', buildPdf([sentence], { mediaBox: [0, 0, 0, 0] }), { pages: [/fox/] }],
  [
    'text beside the visible part',
    buildPdf(['in'], {
      mediaBox: [0, 0, 1_200, 792],
      cropBox: [0, 0, 612, 792],
      extraText: { text: 'out', x: 900, y: 400 },
    }),
    { pages: ['in'] },
  ],
  [
    'a spread divided into two pages by its boxes',
    buildPdf(['left'], {
      mediaBox: [0, 0, 1_200, 792],
      cropBox: [600, 0, 1_200, 792],
      extraText: { text: 'right', x: 900, y: 400 },
    }),
    { pages: ['right'] },
  ],
  [
    '300,000 characters on a page',
    buildPdf([''], {
      content: Buffer.from(`BT /F1 1 Tf ${'(abcdefghij klmno) Tj 0 -1 Td '.repeat(20_000)} ET`),
    }),
    { pages: [/abcdefghij klmno/] },
  ],
  [
    'a form that draws itself',
    buildPdf([''], {
      resources: '/XObject<</X 1000 0 R>>',
      content: Buffer.from('BT /F1 12 Tf 72 700 Td (around) Tj ET /X Do'),
      objects: [
        '<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 1000 0 R>>>>/Length 5>>\nstream\n/X Do\nendstream',
      ],
    }),
    { pages: ['around'] },
  ],
  [
    'arrays in arrays in arrays',
    buildPdf([sentence], { objects: [`${'['.repeat(20_000)}${']'.repeat(20_000)}`] }),
    { pages: [sentence] },
  ],
  [
    'a content stream of arrays',
    buildPdf([''], { content: Buffer.from('['.repeat(300_000)) }),
    { pages: [''] },
  ],
  [
    'a font without a map to characters',
    withFont(
      [
        '<</Type/Font/Subtype/Type3/FontBBox[0 0 9 9]/FontMatrix[.1 0 0 .1 0 0]/CharProcs<<>>/Encoding<</Differences[1/g1/g2/g3/g4/g5]>>/FirstChar 1/LastChar 5/Widths[9 9 9 9 9]>>',
      ],
      shown('0102030405'.repeat(12)),
    ),
    { pages: [''], warning: /have no character mapping/ },
  ],
  [
    'an image without text',
    buildPdf([''], {
      resources: '/XObject<</I 1000 0 R>>',
      content: Buffer.from('612 0 0 792 0 0 cm /I Do'),
      objects: [image],
    }),
    { pages: [''], warning: /contain no text/ },
  ],
  ['a rotated page', buildPdf([sentence], { rotate: 90 }), { pages: [sentence] }],
  [
    'hyphens at line ends',
    buildPdf(['a most incompre-\nhensible thing']),
    { pages: ['a most incomprehensible thing'] },
  ],
  [
    'ligatures',
    withFont(mapped({ '0001': 'ﬁ', '0002': 'n', '0003': 'ﬄ' }), shown('00010002000300020001')),
    { pages: ['finfflnfi'] },
  ],
  ...(
    [
      ['a ligature is a single character', 'ﻼ', '<000300020001> Tj'],
      ['the font maps a ligature to two letters', 'لا', '<000300020001> Tj'],
      [
        'the page has the text of its glyphs (ActualText)',
        'x',
        '/Span<</ActualText<feff0633064406270645>>> BDC <000300020001> Tj EMC',
      ],
    ] as const
  ).map(([title, ligature, drawn]) => {
    const font = mapped({ '0001': 'ﺳ', '0002': ligature, '0003': 'ﻡ' });
    return [
      `Arabic, drawn from right to left: ${title}`,
      withFont(font, `BT /F9 12 Tf 72 700 Td ${drawn} ET`),
      { pages: ['سلام'] },
    ] as const;
  }),
  [
    'Hebrew, drawn from right to left',
    withFont(mapped({ '0001': 'ש', '0002': 'ל', '0003': 'ו', '0004': 'ם' }), shown('0004000300020001')),
    { pages: ['שלום'] },
  ],
  ...(
    [
      ['as separate characters', '<0005000400030006> Tj', '\u05e9\u05c1\u05dc\u05d5\u05dd'],
      ['drawn after their letter', '[<0005000400030001> 1000 <00020007>] TJ', twoVowels],
      [
        'drawn before their letter, slightly offset',
        '[<000500040003> 30 <00020007> -30 <0001>] TJ',
        twoVowels,
      ],
      ['inside a word', '[<000500040003> 1000 <0007> -1000 <0001>] TJ', '\u05e9\u05dc\u05b8\u05d5\u05dd'],
    ] as const
  ).map(([title, drawn, text]) => {
    const letters = ['\u05e9', '\u05c1', '\u05dc', '\u05d5', '\u05dd', '\ufb2a', '\u05b8'];
    const pairs = Object.fromEntries(letters.map((letter, i) => [`000${i + 1}`, letter]));
    const font = mapped(pairs, '/DW 1000/W[2[0]7[0]]');
    const content = `BT /F9 12 Tf 72 700 Td ${drawn} ET`;
    return [`Hebrew, vowels ${title}`, withFont(font, content), { pages: [text] }] as const;
  }),
  [
    'Japanese from top to bottom, drawn character by character',
    withFont(
      mapped({ '0001': '日', '0002': '本', '0003': '語', '0004': 'あ', '0005': 'い' }),
      `BT /F9 12 Tf ${stacked(280, ['0004', '0005'])} ${stacked(300, ['0001', '0002', '0003'])} ET`,
    ),
    { pages: ['日本語\nあい'] },
  ],
  [
    'a form that was filled in',
    withFields(['a granite quarry', 'the river']),
    { pages: [/Question 1: .*a granite quarry\s+Question 2: .*the river/] },
  ],
  [
    'Chinese with a font that is not in the file',
    withFont(mapped({ '0001': '漢', '0002': '字' }), shown('00010002')),
    { pages: ['漢字'] },
  ],
  [
    'characters beyond the basic plane',
    withFont(mapped({ '0001': '😀', '0002': 'a' }), shown('000200010002')),
    { pages: ['a😀a'] },
  ],
  [
    'half a character',
    withFont(mapped({ '0001': '\ud83d', '0002': 'a' }), shown('000200010002')),
    { pages: [/^a[^\ud800-\udfff]*a$/u] },
  ],
  [
    'soft hyphens',
    withFont(mapped({ '0001': 'a', '0002': '\u00ad', '0003': 'b' }), shown('000100020003')),
    { pages: ['ab'] },
  ],
  [
    'text in white on top of text',
    buildPdfWithPlacedText([
      [
        { text: sentence, x: 60, y: 700 },
        { text: sentence, x: 60, y: 700 },
      ],
    ]),
    { pages: [/^The quick brown fox/] },
  ],
  ...Array.from({ length: 24 }, (_, seed) => {
    return [
      `${(seed % 4) * 10 + 1} flipped bits, seed ${seed}`,
      flipRandomBits(sound, seed, (seed % 4) * 10 + 1),
      'anything sound',
    ] as const;
  }),
];

for (const [title, bytes, expected] of cases) {
  t.test(`PDF: ${title}`, async (t) => {
    const outcome = await outcomeOf(bytes);
    if (outcome instanceof ParseFailure) {
      t.match(outcome.message, /^[A-Z].*\.$/, 'the failure has a message for the user');
      if (expected !== 'anything sound')
        t.ok('fails' in expected && expected.fails.includes(outcome.code), outcome.message);
      return;
    }
    t.ok(outcome.pages.every((page) => page.isWellFormed()));
    if (expected === 'anything sound') return;
    if ('fails' in expected) t.fail(`was read as ${JSON.stringify(outcome.pages).slice(0, 200)}`);
    else {
      t.match(outcome.pages, expected.pages);
      t.equal(outcome.pages.length, expected.pages.length);
      if (expected.warning !== undefined) t.match(outcome.warnings.join(' '), expected.warning);
    }
  });
}
