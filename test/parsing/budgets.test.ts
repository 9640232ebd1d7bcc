import { defaultParseLimits, type ParseLimits } from '../../src/parsing/limits.ts';
import type { ParseFailureCode } from '../../src/parsing/parse-failure.ts';
import { ZipArchive } from '../../src/parsing/zip.ts';
import t from '../support/tap.ts';
import { utf8 } from './byte-fixtures.ts';
import { compoundFile } from './compound-fixtures.ts';
import { buildDocx, buildPptx, buildXlsx, docxPart, relationsPart } from './office-fixtures.ts';
import { buildEpub, buildOpenDocument, odfParagraph } from './open-document-fixtures.ts';
import { parseFailureOf, parseInProcess } from './parse-in-process.ts';
import { buildZip } from './zip-fixtures.ts';

const spaces = new Uint8Array(20_000_000).fill(32);
const run = (text: string) => `<w:r><w:t>${text}</w:t></w:r>`;
const bombHead = `<!DOCTYPE x [<!ENTITY a "${'x'.repeat(100)}"><!ENTITY b "&a;&a;&a;">]>`;

/** Returns the file with the declared size of every entry set to one byte. */
function lying(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.from(bytes);
  for (let at = copy.indexOf('PK\x01\x02'); at !== -1; at = copy.indexOf('PK\x01\x02', at + 4)) {
    copy.writeUInt32LE(1, at + 24);
  }
  return copy;
}

/** Returns the file with every entry `from` renamed to `to`, which must have the same length. */
function renamed(bytes: Uint8Array, from: string, to: string): Uint8Array {
  return Buffer.from(Buffer.from(bytes).toString('latin1').replaceAll(from, to), 'latin1');
}

/** Returns the file with the encryption flag set on every entry. */
function flagged(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.from(bytes);
  for (let at = copy.indexOf('PK\x01\x02'); at !== -1; at = copy.indexOf('PK\x01\x02', at + 4))
    copy[at + 8]! |= 1;
  return copy;
}

/** Returns the file with directory, sizes and offsets in ZIP64 fields, as some programs write every file. */
function inZip64(bytes: Uint8Array): Uint8Array {
  const file = Buffer.from(bytes);
  const end = file.lastIndexOf('PK\x05\x06');
  const [count, start] = [file.readUInt16LE(end + 10), file.readUInt32LE(end + 16)];
  const entries: Buffer[] = [];
  for (let at = start, i = 0; i < count; i++) {
    const [name, fields] = [file.readUInt16LE(at + 28), file.readUInt16LE(at + 30)];
    const head = Buffer.from(file.subarray(at, at + 46 + name));
    const large = Buffer.alloc(5 + 4 + 24);
    large.writeUInt16LE(0x9999, 0); // an unrelated field comes first
    large.writeUInt16LE(1, 2);
    large.writeUInt16LE(1, 5);
    large.writeUInt16LE(24, 7);
    [24, 20, 42].forEach((place, n) => {
      large.writeBigUInt64LE(BigInt(file.readUInt32LE(at + place)), 9 + n * 8);
      head.writeUInt32LE(0xffffffff, place);
    });
    head.writeUInt16LE(large.length, 30);
    entries.push(head, large);
    at += 46 + name + fields;
  }
  const directory = Buffer.concat(entries);
  const [large, locator, tail] = [Buffer.alloc(56), Buffer.alloc(20), Buffer.from(file.subarray(end))];
  large.writeUInt32LE(0x06064b50, 0);
  large.writeBigUInt64LE(BigInt(count), 32);
  large.writeBigUInt64LE(BigInt(start), 48);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(start + directory.length), 8);
  tail.writeUInt16LE(0xffff, 10);
  tail.writeUInt32LE(0xffffffff, 16);
  return Buffer.concat([file.subarray(0, start), directory, large, locator, tail]);
}

interface Hostile {
  readonly name: string;
  readonly bytes: () => Uint8Array;
  readonly limits?: Partial<ParseLimits>;
  /** Failure code, or a pattern for the pages. */
  readonly outcome: ParseFailureCode | RegExp;
}

const hostile: readonly Hostile[] = [
  {
    name: 'an entry that unpacks to hundreds of times its size',
    bytes: () => buildDocx([], { parts: { 'word/document.xml': spaces } }),
    outcome: 'too_large',
  },
  {
    name: 'an entry above the limit of one entry',
    bytes: () => buildDocx([], { parts: { 'word/document.xml': spaces } }),
    limits: { zipRatioMax: 10_000, zipEntryBytesMax: 1_000_000 },
    outcome: 'too_large',
  },
  {
    name: 'entries above the limit of all entries',
    bytes: () => buildDocx(['x'.repeat(3_000)]),
    limits: { zipTotalBytesMax: 3_000 },
    outcome: 'too_large',
  },
  {
    name: 'more entries than the limit',
    bytes: () =>
      buildDocx([], { parts: Object.fromEntries(Array.from({ length: 11_000 }, (_, i) => [`p${i}`, ''])) }),
    outcome: 'too_large',
  },
  {
    name: 'a chapter of a book that is a decompression bomb',
    bytes: () => buildEpub([{ name: 'a.xhtml', html: '' }], { parts: { 'OEBPS/a.xhtml': spaces } }),
    outcome: 'too_large',
  },
  {
    name: 'a zip inside a zip',
    bytes: () => buildZip({ 'a.zip': buildZip({ 'b.zip': buildZip({ c: 'x' }) }) }),
    outcome: 'unsupported',
  },
  {
    name: 'a zip inside a document is not read',
    bytes: () => buildDocx(['body'], { parts: { 'word/embeddings/a.zip': buildZip({ b: spaces }) } }),
    outcome: /^body$/,
  },
  {
    name: 'names that leave the package',
    bytes: () =>
      buildDocx(['inside'], {
        parts: { '../../word/document.xml': docxPart(`<w:p>${run('outside')}</w:p>`) },
      }),
    outcome: /^inside$/,
  },
  {
    name: 'relationships that refer to files outside the package',
    bytes: () =>
      buildDocx(['inside'], {
        parts: {
          'word/_rels/document.xml.rels': relationsPart([['rId1', 'styles', '../../../../etc/passwd']]),
        },
      }),
    outcome: /^inside$/,
  },
  {
    name: 'a name that occurs twice: the first counts',
    bytes: () =>
      renamed(
        buildDocx(['first'], { parts: { 'word/documenT.xml': docxPart(`<w:p>${run('second')}</w:p>`) } }),
        'word/documenT.xml',
        'word/document.xml',
      ),
    outcome: /^first$/,
  },
  {
    name: 'a 64-bit directory and 64-bit sizes',
    bytes: () => inZip64(buildDocx(['large'])),
    outcome: /^large$/,
  },
  {
    name: 'a 64-bit directory at another offset',
    bytes: () => {
      const file = Buffer.from(inZip64(buildDocx(['large'])));
      file.writeBigUInt64LE(2n ** 60n, file.lastIndexOf('PK\x06\x07') + 8);
      return file;
    },
    outcome: 'corrupt',
  },
  {
    name: 'parts that are referred to with backslashes',
    bytes: () =>
      buildDocx(['x'], {
        parts: { '_rels/.rels': relationsPart([['rId1', 'officeDocument', '\\word\\document.xml']]) },
      }),
    outcome: /^x$/,
  },
  {
    name: 'parts that are referred to in another case, with absolute names',
    bytes: () => {
      const parts = { '/Word/Document.XML': docxPart(`<w:p>${run('capitals')}</w:p>`) };
      return renamed(buildDocx([], { parts }), 'word/document.xml', 'word/other___.xml');
    },
    outcome: /^capitals$/,
  },
  {
    name: 'false sizes',
    bytes: () => lying(buildDocx(['honest text. '.repeat(50)])),
    outcome: /honest text/,
  },
  { name: 'encrypted entries', bytes: () => flagged(buildDocx(['secret'])), outcome: 'encrypted' },
  {
    name: 'an encrypted Office file',
    bytes: () => compoundFile(['EncryptionInfo', 'EncryptedPackage']),
    outcome: 'encrypted',
  },
  {
    name: 'an encrypted OpenDocument file',
    bytes: () =>
      buildOpenDocument('text', '', { parts: { 'META-INF/manifest.xml': '<m><encryption-data/></m>' } }),
    outcome: 'encrypted',
  },
  {
    name: 'a package without its main part',
    bytes: () =>
      buildZip({
        '[Content_Types].xml': '<T/>',
        '_rels/.rels': relationsPart([['rId1', 'officeDocument', 'word/document.xml']]),
      }),
    outcome: 'corrupt',
  },
  { name: 'a zip without a directory', bytes: () => buildDocx(['x']).subarray(0, 300), outcome: 'corrupt' },
  {
    name: 'entities that multiply in a Word document',
    bytes: () =>
      buildDocx([], {
        parts: {
          'word/document.xml': `${bombHead}<w:document xmlns:w="u"><w:body>&b;</w:body></w:document>`,
        },
      }),
    outcome: 'corrupt',
  },
  {
    name: 'entities that multiply in an OpenDocument text',
    bytes: () => buildOpenDocument('text', '', { parts: { 'content.xml': `${bombHead}<x>&b;</x>` } }),
    outcome: 'corrupt',
  },
  {
    name: 'entities that multiply in the list of a book',
    bytes: () => buildEpub([], { parts: { 'OEBPS/book.opf': `${bombHead}<package>&b;</package>` } }),
    outcome: 'corrupt',
  },
  {
    name: 'an external document type, which is never fetched',
    bytes: () =>
      buildOpenDocument('text', '', {
        parts: { 'content.xml': `<!DOCTYPE x SYSTEM "file:///etc/passwd"><d><p>&xxe;kept</p></d>` },
      }),
    outcome: /^&xxe;kept$/,
  },
  {
    name: 'elements a hundred thousand deep',
    bytes: () => buildDocx([{ xml: '<w:sdt>'.repeat(100_000) + '</w:sdt>'.repeat(100_000) }]),
    outcome: 'too_large',
  },
  {
    name: 'an element with a hundred thousand attributes',
    bytes: () =>
      buildDocx([
        {
          xml: `<w:p ${Array.from({ length: 100_000 }, (_, i) => `a${i}="v"`).join(' ')}>${run('kept')}</w:p>`,
        },
      ]),
    outcome: /^kept$/,
  },
  {
    name: 'one shared string in a million cells',
    bytes: () =>
      buildXlsx([{ name: 'S', rows: [['y'.repeat(100_000)]] }], {
        parts: {
          'xl/worksheets/sheet1.xml': `<worksheet>${`<row>${'<c t="s"><v>0</v></c>'.repeat(10)}</row>`.repeat(10_000)}</worksheet>`,
        },
      }),
    outcome: 'too_large',
  },
  {
    name: 'a row that is repeated a million times',
    bytes: () =>
      buildOpenDocument(
        'spreadsheet',
        `<table:table><table:table-row table:number-rows-repeated="1000000"><table:table-cell>${odfParagraph('y'.repeat(1_000))}</table:table-cell></table:table-row></table:table>`,
      ),
    outcome: 'too_large',
  },
  {
    name: 'spaces that are repeated a billion times',
    bytes: () => buildOpenDocument('text', '<text:p>a<text:s text:c="1000000000"/>b</text:p>'),
    outcome: /^a {100}b$/,
  },
  {
    name: 'deleted text, moved text and second versions',
    bytes: () =>
      buildDocx([
        {
          xml: `<w:p>${run('kept')}<w:del>${run('deleted')}</w:del><mc:AlternateContent><mc:Fallback>${run('twice')}</mc:Fallback></mc:AlternateContent></w:p>`,
        },
      ]),
    outcome: /^kept$/,
  },
  {
    name: 'merged cells of a Word table',
    bytes: () =>
      buildDocx([
        {
          xml: `<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p>${run('wide')}</w:p></w:tc></w:tr><w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc><w:tc><w:p>${run('b')}</w:p></w:tc></w:tr></w:tbl>`,
        },
      ]),
    outcome: /^wide\n \| b$/,
  },
  {
    name: 'merged cells of a workbook',
    bytes: () =>
      buildXlsx([{ name: 'Sheet1', rows: [] }], {
        parts: {
          'xl/worksheets/sheet1.xml':
            '<worksheet><sheetData><row><c t="inlineStr"><is><t>wide</t></is></c><c/></row></sheetData><mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells></worksheet>',
        },
      }),
    outcome: /^wide$/,
  },
  {
    name: 'hidden slides are read',
    bytes: () => buildPptx([{ title: 'seen' }, { title: 'hidden', hidden: true }]),
    outcome: /^# seen\n# hidden$/,
  },
  {
    name: 'an empty sheet among others',
    bytes: () =>
      buildXlsx([
        { name: 'Empty', rows: [] },
        { name: 'Full', rows: [['x']] },
      ]),
    outcome: /^Full\nx$/,
  },
  {
    name: 'a workbook of empty sheets',
    bytes: () => buildXlsx([{ name: 'Empty', rows: [] }]),
    outcome: /^$/,
  },
  {
    name: 'HTML elements two hundred thousand deep',
    bytes: () => utf8(`<html>${'<div>'.repeat(200_000)}core`),
    outcome: /^core$/,
  },
  {
    name: 'HTML attributes that never end',
    bytes: () => utf8(`<html><body><p>seen</p>${'<p a="'.repeat(50_000)}`),
    outcome: /^seen$/,
  },
  {
    name: 'an HTML element with a hundred thousand attributes',
    bytes: () => utf8(`<html><body ${Array.from({ length: 100_000 }, (_, i) => `a${i}=v`).join(' ')}>seen`),
    outcome: /^seen$/,
  },
  {
    name: 'an HTML script that never ends',
    bytes: () => utf8(`<html><body>seen<script>${'var x = 1;'.repeat(100_000)}`),
    outcome: /^seen$/,
  },
  {
    name: 'HTML comments that never end',
    bytes: () => utf8(`<html><body>seen${'<!--'.repeat(100_000)}`),
    outcome: /^seen$/,
  },
];

t.test('containers and markup stay within the limits per file', async (t) => {
  for (const { name, bytes, limits = {}, outcome } of hostile) {
    if (typeof outcome === 'string')
      t.equal((await parseFailureOf(bytes(), null, limits)).code, outcome, name);
    else t.match((await parseInProcess(bytes(), null, limits)).pages.join('\n'), outcome, name);
  }
});

t.test('an archive counts all decompressed bytes, repeated reads included', (t) => {
  const archive = new ZipArchive(buildZip({ a: 'x'.repeat(600) }), {
    ...defaultParseLimits,
    zipTotalBytesMax: 1_000,
  });
  t.equal(archive.read('a')?.length, 600);
  t.throws(() => archive.read('a'), /more than 1000 bytes/);
  t.end();
});
