import type { ParseLimits } from '../../src/parsing/limits.ts';
import { ParseFailure, type ParseFailureCode } from '../../src/parsing/parse-failure.ts';
import t from '../support/tap.ts';
import { flipRandomBits, truncateBytes, utf8 } from './byte-fixtures.ts';
import { compoundFile } from './compound-fixtures.ts';
import { buildDocx, buildPptx, buildXlsx, docxPart, relationsPart } from './office-fixtures.ts';
import { parseFailureOf, parseInProcess } from './parse-in-process.ts';
import { buildPdf } from './pdf-fixtures.ts';
import { buildZip } from './zip-fixtures.ts';

const english =
  'The house of the old man was on the hill, and it was not far from the river that he had known as a boy.';

t.test('encrypted files are rejected as encrypted', async (t) => {
  const manifest = '<m><encryption-data/></m>';
  const cases: [string, Uint8Array][] = [
    ['PDF', buildPdf(['secret'], { userPassword: 'swordfish' })],
    ['Office', compoundFile(['EncryptionInfo', 'EncryptedPackage'])],
    [
      'ODT',
      buildZip({ mimetype: 'application/vnd.oasis.opendocument.text', 'META-INF/manifest.xml': manifest }),
    ],
  ];
  for (const [name, bytes] of cases) t.equal((await parseFailureOf(bytes)).code, 'encrypted', name);
});

t.test('damaged files are rejected as corrupt', async (t) => {
  const sound = buildDocx(['x'.repeat(5_000)]);
  const rels = relationsPart([['rId1', 'officeDocument', 'word/document.xml']]);
  const cases: [string, Uint8Array][] = [
    ['a PDF with only its header', utf8('%PDF-1.7\n')],
    ['a truncated Word document', truncateBytes(sound, 0.6)],
    [
      'a Word document without its main part',
      buildZip({ '[Content_Types].xml': '<T/>', '_rels/.rels': rels }),
    ],
    [
      'a Word document truncated inside its XML',
      buildDocx([], { parts: { 'word/document.xml': docxPart('').slice(0, -20) } }),
    ],
    ['a Word document with crossed elements', buildDocx([{ xml: '<w:p><w:r></w:p></w:r>' }])],
    ['a compound file without a directory', compoundFile([]).subarray(0, 600)],
    [
      'a presentation without a slide part',
      buildPptx([{ title: 'x' }], { parts: { 'ppt/slides/slide1.xml': '<p:sld' } }),
    ],
  ];
  for (const [name, bytes] of cases) t.equal((await parseFailureOf(bytes)).code, 'corrupt', name);
});

t.test('text, pages and bytes over their limits are rejected', async (t) => {
  const cases: [Uint8Array, Partial<ParseLimits>][] = [
    [utf8('x'.repeat(2_000)), { textUnitsMax: 1_000 }],
    [utf8('x\f'.repeat(20)), { pagesMax: 10 }],
    [utf8('x'.repeat(2_000)), { fileBytesMax: 1_000 }],
    [buildPdf(['a', 'b', 'c']), { pagesMax: 2 }],
    [buildPptx([{}, {}, {}]), { pagesMax: 2 }],
    [buildDocx(['a'.repeat(2_000)]), { textUnitsMax: 1_000 }],
  ];
  for (const [bytes, limits] of cases)
    t.equal((await parseFailureOf(bytes, 'a.txt', limits)).code, 'too_large');
  const long = await parseInProcess(buildPdf(['word word\n'.repeat(20)]), null, { pageUnitsMax: 100 });
  t.ok(long.pages[0]!.length > 80 && long.pages[0]!.length <= 100);
  t.match(long.warnings, [/truncated at the limit per page/]);
});

t.test(
  'truncated and bit-flipped files end as a document or as a failure with a message (seed 20261121)',
  async (t) => {
    const originals: [string, Uint8Array][] = [
      ['pdf', buildPdf([english, english, english])],
      ['docx', buildDocx([english, { table: [['a', 'b']] }, english])],
      ['pptx', buildPptx([{ title: 'T', body: [english], notes: english }])],
      ['xlsx', buildXlsx([{ name: 'S', rows: [['a', 1, english]] }])],
      ['html', utf8(`<html><body><p>${english}</p></body></html>`)],
      ['csv', utf8(`a,b\n"${english}",2\n`)],
    ];
    const allowed: readonly ParseFailureCode[] = ['corrupt', 'unsupported', 'encrypted', 'too_large'];
    for (const [name, bytes] of originals) {
      const variants = [0.5, 0.9, 0.99].map((share) => truncateBytes(bytes, share));
      for (let i = 0; i < 25; i++) variants.push(flipRandomBits(bytes, 20_261_121 + i, 1 + i));
      for (const variant of variants) {
        try {
          const document = await parseInProcess(variant, `a.${name}`);
          t.ok(document.pages.every((page) => page.isWellFormed?.() ?? true));
        } catch (error) {
          if (!(error instanceof ParseFailure)) throw error;
          if (!allowed.includes(error.code) || !/^[A-Z].*\.$/s.test(error.message))
            t.fail(`${name}: ${error.code} ${error.message}`);
        }
      }
      t.pass(name);
    }
  },
);
