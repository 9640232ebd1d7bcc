import t from '../../../support/tap.ts';
import { buildEpub, buildOpenDocument, odfParagraph } from '../../open-document-fixtures.ts';
import { parseFailureOf, parseInProcess } from '../../parse-in-process.ts';
import { buildZip } from '../../zip-fixtures.ts';

const listStyles =
  '<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>' +
  '<text:list-level-style-number text:level="2" style:num-format="a" text:display-levels="2" style:num-suffix=")"/></text:list-style>' +
  '<text:list-style style:name="L2"><text:list-level-style-bullet text:level="1"/></text:list-style>';
const styles =
  '<style:style style:name="P1" style:parent-style-name="Title"/>' +
  `<style:style style:name="Break"><style:paragraph-properties fo:break-before="page"/></style:style>${listStyles}`;

function list(style: string, ...items: string[]): string {
  const all = items.map((item) => `<text:list-item>${item}</text:list-item>`);
  return `<text:list text:style-name="${style}">${all.join('')}</text:list>`;
}

function rows(...all: string[][]): string {
  const cells = (row: string[]) =>
    row.map((cell) => `<table:table-cell>${odfParagraph(cell)}</table:table-cell>`).join('');
  return all.map((row) => `<table:table-row>${cells(row)}</table:table-row>`).join('');
}

t.test('ODT: order, headings, lists, tables and notes are kept, and page breaks end pages', async (t) => {
  const body =
    odfParagraph('The report', 'P1') +
    '<text:h text:outline-level="2">First  <text:span>part</text:span></text:h>' +
    '<text:p>A<text:s text:c="2"/>b<text:tab/>c<text:line-break/>d<text:note><text:note-citation>1</text:note-citation>' +
    '<text:note-body><text:p>The note</text:p></text:note-body></text:note></text:p>' +
    list('L1', odfParagraph('one') + list('L1', odfParagraph('inner')), odfParagraph('two')) +
    list('L2', odfParagraph('point')) +
    `<table:table>${rows(['x', 'y'], ['1', ''])}</table:table>` +
    '<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>' +
    '<text:p>before <text:soft-page-break/>after<office:annotation><text:p>remark</text:p></office:annotation></text:p>' +
    odfParagraph('third page', 'Break');
  const document = await parseInProcess(
    buildOpenDocument('text', body, { styles, language: 'de-DE' }),
    'a.odt',
  );
  t.match(document, { kind: 'odt', title: 'The report', language: 'de', headings: true, unordered: false });
  t.same(document.pages, [
    '# The report\n\n## First part\n\nA  b\tc\nd\n1. one\n1.a) inner\n2. two\n- point\nx | y\n1 | \n\nbefore\n\nThe note',
    'after',
    'third page',
  ]);
});

t.test('ODP: one page per slide with title and notes, without repeated elements', async (t) => {
  const frame = (role: string, text: string) =>
    `<draw:frame presentation:class="${role}"><svg:title>Alternative</svg:title><draw:text-box>${odfParagraph(text)}</draw:text-box></draw:frame>`;
  const slide = (title: string, rest: string, notes: string) =>
    `<draw:page>${frame('title', title)}${rest}${frame('footer', 'every slide')}<presentation:notes>${frame('notes', notes)}</presentation:notes></draw:page>`;
  const body =
    slide('Opening', frame('outline', 'Point'), 'Speak slowly') +
    slide('Figures', `<draw:frame><table:table>${rows(['x', 'y'])}</table:table></draw:frame>`, '');
  const document = await parseInProcess(buildOpenDocument('presentation', body, { title: 'Deck' }));
  t.match(document, { kind: 'odp', title: 'Deck', unordered: false });
  t.same(document.pages, ['# Opening\n\nPoint\n\nSpeak slowly', '# Figures\n\nx | y']);
});

t.test('ODS: unordered pages of rows that never span sheets', async (t) => {
  const cell = (attributes: string, text: string) =>
    `<table:table-cell ${attributes}>${odfParagraph(text)}</table:table-cell>`;
  const first =
    '<table:table table:name="Sheet1"><table:table-row>' +
    cell('office:value-type="date" office:date-value="2023-03-15T00:00:00"', '15.03.23') +
    cell('office:value-type="float" office:value="1234.5"', '1,234.50') +
    '<table:table-cell table:number-columns-repeated="1000"/></table:table-row>' +
    `<table:table-row table:number-rows-repeated="2">${cell('table:number-columns-repeated="2"', 'same')}</table:table-row>` +
    '<table:table-row table:number-rows-repeated="1048576"><table:table-cell/></table:table-row></table:table>';
  const many = Array.from({ length: 300 }, (_, i) => [`item ${i}`, `${i}`]);
  const bytes = buildOpenDocument(
    'spreadsheet',
    `${first}<table:table table:name="Stock">${rows(...many)}</table:table>`,
  );
  const document = await parseInProcess(bytes);
  t.match(document, { kind: 'ods', unordered: true });
  t.equal(document.pages[0], '2023-03-15\t1,234.50\nsame\tsame\nsame\tsame');
  t.match(document.pages[1], /^Stock\nitem 0\t0\nitem 1\t1/);
  t.ok(document.pages.every((page) => page.length <= 2_000));
  const bomb = buildOpenDocument(
    'spreadsheet',
    `<table:table><table:table-row table:number-rows-repeated="99999999">${cell('table:number-columns-repeated="99999999"', 'x')}</table:table-row></table:table>`,
  );
  t.equal((await parseFailureOf(bomb)).code, 'too_large', 'repeated rows count as text');
});

t.test('EPUB: one page per spine item in reading order, with headings and the title', async (t) => {
  const bytes = buildEpub(
    [
      {
        name: 'z first.xhtml',
        html: '<html><head><title>x</title></head><body><h1>One</h1><p>Text&nbsp;of &eacute;</p></body></html>',
      },
      { name: 'a.xhtml', html: '<html><body><h2>Two</h2><p>More</p></body></html>' },
    ],
    { title: 'A book & more', language: 'fr' },
  );
  const document = await parseInProcess(bytes);
  t.match(document, { kind: 'epub', title: 'A book & more', language: 'fr', headings: true });
  t.same(document.pages, ['# One\n\nText\xa0of é', '## Two\n\nMore']);
  const untitled = buildEpub(
    [
      { name: 'a.xhtml', html: '<h1>The heading</h1>' },
      { name: 'b', html: '' },
    ],
    {
      parts: { 'META-INF/encryption.xml': encryption('http://www.idpf.org/2008/embedding') },
    },
  );
  t.match(await parseInProcess(untitled), { title: 'The heading', pages: ['# The heading', ''] });
  const old = Buffer.from(
    '<package><manifest><item id="a" href="a.html" media-type="text/x-oeb1-document"/></manifest><spine><itemref idref="a"/></spine></package>',
  );
  const chapter = [{ name: 'a.html', html: '<p>Of the year 1999</p>' }];
  t.same((await parseInProcess(buildEpub(chapter, { parts: { 'OEBPS/book.opf': old } }))).pages, [
    'Of the year 1999',
  ]);
});

function encryption(method: string): string {
  return `<encryption><EncryptedData><EncryptionMethod Algorithm="${method}"/><KeyInfo/><CipherData><CipherReference URI="OEBPS/a.xhtml"/></CipherData></EncryptedData></encryption>`;
}

t.test('protected and damaged containers are rejected with the reason', async (t) => {
  const chapter = [{ name: 'a.xhtml', html: '<p>x</p>' }];
  const type = 'application/vnd.oasis.opendocument.text';
  const cases: [string, Uint8Array, string, RegExp][] = [
    [
      'a book with DRM',
      buildEpub(chapter, {
        parts: { 'META-INF/encryption.xml': encryption('http://www.w3.org/2001/04/xmlenc#aes128-cbc') },
      }),
      'encrypted',
      /DRM/,
    ],
    [
      'an encrypted text',
      buildZip({ mimetype: type, 'META-INF/manifest.xml': '<m><encryption-data/></m>', 'content.xml': 'x' }),
      'encrypted',
      /password/,
    ],
    ['a text without content', buildZip({ mimetype: type }), 'corrupt', /content\.xml is missing/],
    ['a book without chapters', buildEpub([]), 'corrupt', /no chapter/],
    ['a book without its package document', buildZip({ mimetype: 'application/epub+zip' }), 'corrupt', /OPF/],
    ['a text with truncated XML', buildOpenDocument('text', '<text:p>'), 'corrupt', /not well-formed XML/],
  ];
  for (const [name, bytes, code, sentence] of cases)
    t.match(await parseFailureOf(bytes), { code, message: sentence }, name);
  const missing = buildEpub(chapter, {
    parts: {
      'OEBPS/book.opf':
        '<package><manifest><item id="a" href="gone.xhtml" media-type="text/html"/></manifest><spine><itemref idref="a"/></spine></package>',
    },
  });
  t.match(await parseInProcess(missing), { pages: [''], warnings: [/gone\.xhtml of the book is missing/] });
});

t.test('the text of OpenDocument charts is extracted, and only damaged ones are skipped', async (t) => {
  const chart =
    '<office:document-content><office:body><office:chart><chart:chart><chart:title><text:p>Tons</text:p></chart:title><table:table>' +
    '<table:table-row><table:table-cell><text:p>North</text:p></table:table-cell><table:table-cell><text:p>7</text:p></table:table-cell>' +
    '</table:table-row></table:table></chart:chart></office:chart></office:body></office:document-content>';
  const parts = { 'Object 1/content.xml': chart, 'Object 2/content.xml': '<office:document-content>' };
  const frame = (name: string) =>
    `<draw:frame><draw:object xlink:href="./${name}"/><draw:image/></draw:frame>`;
  const frames = frame('Object 1') + frame('Object 2') + frame('Object 3') + frame('');
  const text = buildOpenDocument('text', `<text:p>a${frames}b</text:p>${odfParagraph('c')}`, { parts });
  t.match(await parseInProcess(text), {
    pages: ['ab\nTons\nNorth\t7\nc'],
    warnings: [/damaged chart was skipped/],
  });
  const slides = buildOpenDocument('presentation', `<draw:page>${frames}</draw:page>`, { parts });
  t.match(await parseInProcess(slides), { pages: ['Tons\nNorth\t7'], warnings: [/damaged/] });
  const sheet = `<table:table table:name="Sheet1"><table:shapes>${frame('Object 2')}<draw:text-box>${odfParagraph('A box')}</draw:text-box></table:shapes><table:table-row><table:table-cell>${odfParagraph('x')}${frame('Object 1')}</table:table-cell></table:table-row></table:table>`;
  t.match(await parseInProcess(buildOpenDocument('spreadsheet', sheet, { parts })), {
    pages: ['x', 'A box\nTons\nNorth\t7'],
    warnings: [/damaged/],
  });
});
