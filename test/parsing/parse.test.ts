import t from 'tap';
import type { ParseLimits } from '../../src/parsing/limits.ts';
import { ParseFailure, type ParseFailureCode } from '../../src/parsing/parse-failure.ts';
import { compoundFile } from './compound-fixtures.ts';
import {
  buildDocx,
  buildPdf,
  buildPptx,
  buildXlsx,
  buildZip,
  docxPart,
  flipRandomBits,
  relationsPart,
  truncateBytes,
  utf8,
  utf16,
  utf32,
} from './fixtures.ts';
import { parseFailureOf, parseInProcess } from './parse-in-process.ts';

const english =
  'The house of the old man was on the hill, and it was not far from the river that he had known as a boy.';

t.test('a PDF is parsed to pages, title and language', async (t) => {
  const document = await parseInProcess(
    buildPdf([english, 'Second page'], { title: 'A report' }),
    'report.pdf',
  );
  t.match(document, {
    kind: 'pdf',
    contentType: 'application/pdf',
    unordered: false,
    title: 'A report',
    language: 'en',
  });
  t.same(document.pages, [english, 'Second page']);
});

t.test('a title that only the XMP metadata contains is used', async (t) => {
  const packet = (title: string, schema = 'pdf="http://ns.adobe.com/pdf/1.3/"') =>
    `<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="r">
<rdf:Description xmlns:dc="d" xmlns:${schema}><dc:title><rdf:Alt><rdf:li xml:lang="x-default">${title}</rdf:li>
<rdf:li xml:lang="de">Felder</rdf:li></rdf:Alt></dc:title></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`;
  const pdf = (...packets: string[]) => {
    const objects = packets.map(
      (xml) => `<</Type/Metadata/Subtype/XML/Length ${xml.length}>>\nstream\n${xml}\nendstream`,
    );
    return buildPdf([english], { objects });
  };
  const old = packet('An old title');
  const picture = packet('A picture in it', 'tiff="http://ns.adobe.com/tiff/1.0/"');
  t.equal(
    (await parseInProcess(pdf(old, packet('Fields &amp; meadows'), picture))).title,
    'Fields & meadows',
  );
  t.equal((await parseInProcess(pdf(picture))).title, null);
  t.equal((await parseInProcess(pdf(packet('<b>broken')))).title, null);
});

t.test(
  'a PDF page without text is an empty page with a warning, and an owner password is ignored',
  async (t) => {
    const scanned = await parseInProcess(buildPdf(['one', '', '', 'four', '']));
    t.same(scanned.pages, ['one', '', '', 'four', '']);
    t.match(scanned.warnings, [/2-3, 5/]);
    const ownerOnly = await parseInProcess(buildPdf(['open to all'], { userPassword: '' }));
    t.same(ownerOnly.pages, ['open to all']);
  },
);

t.test('text outside the crop box of a PDF page is not read', async (t) => {
  const bytes = buildPdf(['inside'], {
    mediaBox: [0, 0, 1_200, 792],
    cropBox: [0, 0, 612, 792],
    strayText: { text: 'outside', x: 900, y: 400 },
  });
  t.same((await parseInProcess(bytes)).pages, ['inside']);
  const whole = buildPdf(['inside'], {
    mediaBox: [0, 0, 1_200, 792],
    strayText: { text: 'outside', x: 900, y: 400 },
  });
  t.match((await parseInProcess(whole)).pages[0], /outside/);
});

t.test('a word hyphenated at the end of a PDF line is joined', async (t) => {
  const document = await parseInProcess(buildPdf(['the most effi-\ncient way of all']));
  t.match(document.pages[0], /efficient way/);
});

t.test('a PDF with a wrong page count is read as far as its pages go, or rejected', async (t) => {
  const more = await parseInProcess(buildPdf(['a real page'], { claimedPageCount: 3 }));
  t.equal(more.pages[0], 'a real page');
  t.equal((await parseFailureOf(buildPdf(['a real page'], { claimedPageCount: 90_000 }))).code, 'too_large');
});

t.test('text is extracted from a PDF page of extreme size', async (t) => {
  const document = await parseInProcess(
    buildPdf(['vast'], { mediaBox: [0, 0, 1_000_000_000, 1_000_000_000] }),
  );
  t.same(document.pages, ['vast']);
});

t.test('a PDF without a cross-reference table is repaired', async (t) => {
  const bytes = Buffer.from(buildPdf(['still here']));
  const cut = bytes.subarray(0, bytes.indexOf('xref\n'));
  const repaired = await parseInProcess(cut);
  t.same(repaired.pages, ['still here']);
  t.match(repaired.warnings, [/damaged/]);
});

t.test('DOCX: order, headings, tables and notes are kept, and page breaks end pages', async (t) => {
  const bytes = buildDocx(
    [
      { heading: 1, text: 'Report & more' },
      'First paragraph',
      {
        table: [
          ['a', 'b'],
          ['1', ''],
        ],
      },
      { text: 'With a note', footnote: 'The note itself' },
      { pageBreak: 'author' },
      { pageBreak: 'rendered' },
      'Second page',
      { heading: 2, text: 'Inner' },
    ],
    { language: 'de-AT' },
  );
  const document = await parseInProcess(bytes, 'anything.bin');
  t.match(document, { kind: 'docx', headings: true, title: 'Report & more', language: 'de' });
  t.same(document.pages, [
    '# Report & more\n\nFirst paragraph\na | b\n1 | \n\nWith a note\n\nThe note itself',
    'Second page\n\n## Inner',
  ]);
});

t.test('DOCX: deleted, moved, hidden and fallback text is skipped, text boxes are kept', async (t) => {
  const run = (text: string) => `<w:r><w:t>${text}</w:t></w:r>`;
  const hidden = (on: string) => `<w:r><w:rPr><w:vanish${on}/></w:rPr><w:t>hidden</w:t></w:r>`;
  const xml =
    `<w:p><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr>${run('kept')}${hidden('')}${hidden(' w:val="1"')}<w:del>${run(' deleted')}</w:del><w:moveFrom>${run(' moved')}</w:moveFrom>` +
    `<w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p>${run('boxed')}</w:p></w:txbxContent></mc:Choice>` +
    `<mc:Fallback><w:txbxContent><w:p>${run('boxed')}</w:p></w:txbxContent></mc:Fallback></mc:AlternateContent></w:r></w:p>`;
  t.same((await parseInProcess(buildDocx([{ xml }]))).pages, ['boxed\nkept']);
  t.same((await parseInProcess(buildDocx([{ xml: `<w:p>${hidden(' w:val="0"')}</w:p>` }]))).pages, [
    'hidden',
  ]);
});

t.test('DOCX: numbered clauses and lists have the numbers that Word shows', async (t) => {
  const level = (at: number, format: string, text: string, start = 1) =>
    `<w:lvl w:ilvl="${at}"><w:start w:val="${start}"/><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/></w:lvl>`;
  const numbering =
    `<w:numbering xmlns:w="urn:w"><w:abstractNum w:abstractNumId="5">${level(0, 'decimal', '%1.', 4)}` +
    `${level(1, 'lowerLetter', '%1.(%2)')}${level(2, 'upperRoman', '%3:')}</w:abstractNum>` +
    `<w:abstractNum w:abstractNumId="6">${level(0, 'bullet', '*')}</w:abstractNum>` +
    '<w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="6"/></w:num>' +
    '<w:num w:numId="3"><w:abstractNumId w:val="5"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="9"/></w:lvlOverride></w:num></w:numbering>';
  const item = (list: number, at: number, text: string) => ({
    xml: `<w:p><w:pPr><w:numPr><w:ilvl w:val="${at}"/><w:numId w:val="${list}"/></w:numPr></w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`,
  });
  const blocks = [
    item(1, 0, 'Terms'),
    item(1, 1, 'first'),
    item(1, 1, 'second'),
    item(1, 2, 'deep'),
    'Plain',
    item(1, 0, 'Price'),
    item(1, 1, 'again'),
    item(2, 0, 'bullet'),
    item(3, 0, 'restarted'),
    item(0, 0, 'none'),
  ];
  const parts = {
    'word/numbering.xml': numbering,
    'word/_rels/document.xml.rels': relationsPart([['rId1', 'numbering', 'numbering.xml']]),
  };
  const expected =
    '4. Terms\n4.(a) first\n4.(b) second\nI: deep\nPlain\n5. Price\n5.(a) again\n- bullet\n9. restarted\nnone';
  t.same((await parseInProcess(buildDocx(blocks, { parts }))).pages, [expected]);
});

t.test('DOCX: the text of charts and diagrams is placed at their anchors', async (t) => {
  const drawing = (element: string) => ({ xml: `<w:p><w:r><w:drawing>${element}</w:drawing></w:r></w:p>` });
  const parts = {
    'word/_rels/document.xml.rels': relationsPart([
      ['rId1', 'chart', 'charts/chart1.xml'],
      ['rId2', 'diagramData', 'diagrams/data1.xml'],
      ['rId3', 'chartEx', 'charts/chartEx1.xml'],
      ['rId4', 'chart', 'charts/chart2.xml'],
    ]),
    'word/charts/chart1.xml':
      '<c:chart xmlns:c="c" xmlns:a="a"><c:title><a:p><a:r><a:t>Growth</a:t></a:r></a:p></c:title><c:ser><c:cat><c:strRef><c:f>A1:A2</c:f>' +
      '<c:strCache><c:pt><c:v>2022</c:v></c:pt>\n<c:pt><c:v>2023</c:v></c:pt></c:strCache></c:strRef></c:cat></c:ser></c:chart>',
    'word/charts/chartEx1.xml':
      '<cx:chart xmlns:cx="c"><cx:strDim><cx:f>A1</cx:f><cx:lvl><cx:pt idx="0">Salt</cx:pt><cx:pt idx="1">Tar</cx:pt></cx:lvl></cx:strDim>' +
      '<cx:tx><cx:txData><cx:v>Cargo</cx:v></cx:txData></cx:tx></cx:chart>',
    'word/charts/chart2.xml': '<c:chart',
    'word/diagrams/data1.xml':
      '<dgm:dataModel xmlns:dgm="d" xmlns:a="a"><dgm:pt><dgm:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:dataModel>',
  };
  const blocks = [
    'before',
    drawing('<c:chart r:id="rId1"/>'),
    drawing('<dgm:relIds r:dm="rId2" r:lo="rId9"/>'),
    drawing('<cx:chart r:id="rId3"/>'),
    drawing('<c:chart r:id="rId4"/>'),
    drawing('<c:chart r:id="nowhere"/>'),
    'after',
  ];
  t.match(await parseInProcess(buildDocx(blocks, { parts })), {
    pages: ['before\nGrowth\n2022\t2023\nPlan\nSalt\tTar\nCargo\nafter'],
    warnings: [/damaged chart or diagram was skipped/],
  });
});

t.test('PPTX: one page per slide in show order, with tables and notes, without footers', async (t) => {
  const bytes = buildPptx([
    { title: 'Opening', body: ['First point', 'Second point'], notes: 'Speak slowly' },
    { title: 'Figures', table: [['x', 'y']], hidden: true },
  ]);
  const document = await parseInProcess(bytes);
  t.match(document, { kind: 'pptx', title: 'Opening', unordered: false });
  t.same(document.pages, ['# Opening\n\nFirst point\nSecond point\n\nSpeak slowly', '# Figures\n\nx | y']);
});

t.test('PPTX: the text of charts and diagrams is extracted, and only damaged ones are skipped', async (t) => {
  const point = (text: string) =>
    `<dgm:pt><dgm:t><a:bodyPr/><a:p><a:r><a:t>${text}</a:t></a:r></a:p>\n</dgm:t></dgm:pt>`;
  const parts = {
    'ppt/slides/_rels/slide1.xml.rels': relationsPart([
      ['rId1', 'diagramData', '../diagrams/data1.xml'],
      ['rId2', 'chart', '../charts/chart1.xml'],
      ['rId3', 'chart', '../charts/chart2.xml'],
    ]),
    'ppt/diagrams/data1.xml': `<dgm:dataModel xmlns:dgm="d" xmlns:a="a">${point('Dig')}${point('Ship')}</dgm:dataModel>`,
    'ppt/charts/chart1.xml':
      '<c:chart xmlns:c="c" xmlns:a="a"><c:title><a:p><a:r><a:t>Tons</a:t></a:r></a:p></c:title></c:chart>',
    'ppt/charts/chart2.xml': '<c:chart><c:title>',
  };
  const document = await parseInProcess(buildPptx([{ title: 'Plan' }], { parts }));
  t.same(document.pages, ['# Plan\n\nDig\nShip\nTons']);
  t.match(document.warnings, [/damaged chart or diagram on slide 1 was skipped/]);
});

t.test('XLSX: unordered pages of rows that never span sheets', async (t) => {
  const rows = Array.from({ length: 300 }, (_, i) => [`item ${i}`, i, i % 2 === 0]);
  const document = await parseInProcess(
    buildXlsx([
      {
        name: 'Sheet1',
        rows: [
          ['when', 'what', { inline: 'in place' }],
          [{ date: 45_000 }, null, 0.1],
        ],
      },
      { name: 'Stock', rows },
    ]),
  );
  t.match(document, { kind: 'xlsx', unordered: true });
  t.equal(document.pages[0], 'when\twhat\tin place\n2023-03-15\t0.1');
  t.match(document.pages[1], /^Stock\nitem 0\t0\tTRUE\nitem 1\t1\tFALSE/);
  t.ok(document.pages.every((page) => page.length <= 2_000));
  t.equal(document.pages.slice(1).join('\n').split('\n').length, 301);
});

t.test('XLSX: a cell merged over rows is repeated in each of them', async (t) => {
  const cell = (place: string, text: string) => `<c r="${place}" t="inlineStr"><is><t>${text}</t></is></c>`;
  const sheet = (ranges: string[]) =>
    `<worksheet><sheetData><row r="1">${cell('A1', 'fruit')}${cell('B1', 'apple')}</row>` +
    `<row r="2">${cell('B2', 'pear')}</row><row r="3"><c r="A3"/></row><row r="5">${cell('B5', 'plum')}${cell('C5', 'ripe')}</row>` +
    `<row r="6">${cell('B6', 'stone')}</row></sheetData><mergeCells>${ranges.map((range) => `<mergeCell ref="${range}"/>`).join('')}</mergeCells></worksheet>`;
  const rows = async (...ranges: string[]) => {
    const parts = { 'xl/worksheets/sheet1.xml': sheet(ranges) };
    return (await parseInProcess(buildXlsx([{ name: 'Sheet1', rows: [] }], { parts }))).pages[0]?.split('\n');
  };
  t.same(await rows('A1:A5'), ['fruit\tapple', 'fruit\tpear', 'fruit\tplum\tripe', 'stone']);
  t.same(
    await rows('A1:C1', 'C5:D6'),
    ['fruit\tapple', 'pear', 'plum\tripe', 'stone\tripe'],
    'columns are not repeated',
  );
});

t.test('XLSX: text boxes and charts of a sheet follow its rows', async (t) => {
  const drawing =
    '<xdr:wsDr xmlns:xdr="u" xmlns:a="a"><xdr:sp><xdr:txBody><a:p><a:r><a:t>A remark</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:wsDr>';
  const chart =
    '<c:chart xmlns:c="c" xmlns:a="a"><c:title><a:p><a:r><a:t>Growth</a:t></a:r></a:p></c:title></c:chart>';
  const bytes = buildXlsx([{ name: 'Sheet1', rows: [['x']] }], {
    parts: {
      'xl/worksheets/_rels/sheet1.xml.rels': relationsPart([['rId1', 'drawing', '../drawings/drawing1.xml']]),
      'xl/drawings/drawing1.xml': drawing,
      'xl/drawings/_rels/drawing1.xml.rels': relationsPart([['rId1', 'chart', '../charts/chart1.xml']]),
      'xl/charts/chart1.xml': chart,
    },
  });
  t.same((await parseInProcess(bytes)).pages, ['x', 'A remark\nGrowth']);
  const damaged = buildXlsx([{ name: 'Sheet1', rows: [['x']] }], {
    parts: {
      'xl/worksheets/_rels/sheet1.xml.rels': relationsPart([['rId1', 'drawing', '../drawings/drawing1.xml']]),
      'xl/drawings/drawing1.xml': drawing.slice(0, 100),
    },
  });
  t.match(await parseInProcess(damaged), {
    pages: ['x'],
    warnings: [/damaged drawings of sheet Sheet1/],
  });
});

t.test('CSV rows become unordered pages, quotes and line breaks inside fields included', async (t) => {
  const lines = Array.from({ length: 200 }, (_, i) => `${i};"name ""${i}""";"two\nlines"`);
  const document = await parseInProcess(utf8(`id;name;note\n${lines.join('\r\n')}\n`), 'data.csv');
  t.match(document, { kind: 'csv', unordered: true, contentType: 'text/csv' });
  t.match(document.pages[0], /^id\tname\tnote\n0\tname "0"\ttwo lines\n1\t/);
  t.equal(document.pages.join('\n').split('\n').length, 201);
  t.same((await parseInProcess(utf8('sep=;\r\na,b;c\r\n1,2;3\r\n'), 'data.csv')).pages, ['a,b\tc\n1,2\t3']);
});

t.test('XLSX: number formats for dates and decimals are applied', async (t) => {
  const codes = ['dd/mm/yyyy', '0.0%', '#,##0.00 [$€-407]', '[h]:mm', '"100%"0', '0.0%;[Red]-0.0%'];
  const formats = codes.map(
    (code, i) => `<numFmt numFmtId="${200 + i}" formatCode="${code.replaceAll('"', '&quot;')}"/>`,
  );
  const styles = [9, 10, 200, 201, 202, 203, 204, 205].map((id) => `<xf numFmtId="${id}"/>`).join('');
  const values = [0.25, 0.1234, 45_000, 0.07, 1_234.5, 0.75, 5, -0.031];
  const cells = values.map((value, i) => `<c s="${i}"><v>${value}</v></c>`).join('');
  const parts = {
    'xl/styles.xml': `<styleSheet><numFmts>${formats.join('')}</numFmts><cellXfs>${styles}</cellXfs></styleSheet>`,
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData><row>${cells}<c t="d"><v>2023-05-06</v></c></row></sheetData></worksheet>`,
  };
  const shown = '25%\t12.34%\t2023-03-15\t7%\t1234.5\t18:00:00\t5\t-3.1%\t2023-05-06';
  t.same((await parseInProcess(buildXlsx([{ name: 'Sheet1', rows: [] }], { parts }))).pages, [shown]);
});

t.test(
  'HTML: visible text without scripts, cells separated by tabs, headings marked, entities decoded',
  async (t) => {
    const source = `<!doctype html><html lang="fr"><head><title>La  page</title><script>var x = "<p>no</p>";</script></head>
    <body><h2>Un <em>titre</em></h2><p>Texte &eacute;l&#233;gant<br>fin</p><table><tr><td>a</td><td>b</td></tr></table>
    <pre>x
  y</pre><ul><li>un<li>deux</ul></body></html>`;
    const document = await parseInProcess(utf8(source), 'page.html');
    t.match(document, { kind: 'html', title: 'La page', language: 'fr', headings: true });
    t.equal(document.pages[0], '## Un titre\n\nTexte élégant\nfin\n\na\tb\n\nx\n  y\n\nun\ndeux');
  },
);

t.test(
  'HTML: table rows are lines regardless of their contents, and layout tables keep their paragraphs',
  async (t) => {
    const long = 'Many words that go on for some time. '.repeat(8).trim();
    const tables: readonly (readonly [string, string])[] = [
      [
        '<tr><td><p>Granite</p></td><td><p>6.5</p><p>hard</p></td><td><ul><li>x<li>y</ul></td></tr>',
        'Granite\t6.5 hard\tx y',
      ],
      ['<tr><th>a<th>b<tr><td><div>c</div><td><div>d</div>', 'a\tb\nc\td'],
      ['<tr><td>a</td><td></td><td>c</td></tr>', 'a\t\tc'],
      [`<tr><td>1.</td><td><p>${long}</p><p>end</p></td><td>b</td></tr>`, `1.\t${long}\n\nend\n\nb`],
      [`<tr><td><p>one</p><p>two</p></td></tr>`, 'one\n\ntwo'],
      ['<tr><td><h2>Head</h2><p>p</p></td><td>q</td></tr>', '## Head\n\np\n\nq'],
      [
        '<tr><td><table><tr><td><p>in</p></td><td><p>ner</p></td></tr></table></td><td>out</td></tr>',
        'in\tner\n\nout',
      ],
      ['<tr><td>1</td><td><pre>x\n  y</pre></td></tr>', '1\n\nx\n  y'],
    ];
    for (const [source, text] of tables) {
      t.same(
        (await parseInProcess(utf8(`<html><body><table>${source}</table></body></html>`))).pages,
        [text],
        source,
      );
    }
  },
);

t.test('HTML: only hidden elements are skipped', async (t) => {
  const source =
    '<html><body><div style="color:red; Display: none">a<div>b</div></div><p style="display:none">kept, for it may never end' +
    '<span hidden>c</span><ix:header>d</ix:header><div style="display:block">seen</div></body></html>';
  t.same((await parseInProcess(utf8(source))).pages, ['kept, for it may never end\nseen']);
});

t.test('a DOCX with text only in headers keeps it, and a PPTX without slides is rejected', async (t) => {
  const header = '<w:hdr xmlns:w="urn:w"><w:p><w:r><w:t>Letterhead</w:t></w:r></w:p></w:hdr>';
  const parts = {
    'word/header1.xml': header,
    'word/header2.xml': header,
    'word/_rels/document.xml.rels': relationsPart([
      ['rId1', 'header', 'header1.xml'],
      ['rId2', 'header', 'header2.xml'],
    ]),
  };
  t.same((await parseInProcess(buildDocx([], { parts }))).pages, ['Letterhead']);
  t.same((await parseInProcess(buildDocx(['body'], { parts }))).pages, ['body']);
  t.match(await parseFailureOf(buildPptx([])), { code: 'corrupt', message: /no slides/ });
});

t.test('HTML: deeply nested and unclosed elements are parsed in linear time', async (t) => {
  const deep = `<html>${'<div>'.repeat(200_000)}core${'</div>'.repeat(200_000)}`;
  t.same((await parseInProcess(utf8(deep))).pages, ['core']);
  const open = `<html><body>${'<p a="'.repeat(50_000)}`;
  t.equal((await parseInProcess(utf8(open))).kind, 'html');
  const entities = `<html><body><p>${'a&amp;'.repeat(200_000)}`;
  t.equal((await parseInProcess(utf8(entities))).pages[0]?.length, 400_000);
});

t.test('Markdown is kept verbatim, and its first heading is the title', async (t) => {
  const source = '```\n# not this\n```\n\n# The title\n\nText with *stars*.\n';
  const document = await parseInProcess(utf8(source), 'notes.md');
  t.match(document, { kind: 'markdown', title: 'The title', headings: true });
  t.same(document.pages, [source]);
});

t.test('a form feed splits plain text into pages and CRLF is kept', async (t) => {
  t.same((await parseInProcess(utf8('one\r\ntwo\fthree\f'), 'a.txt')).pages, ['one\r\ntwo', 'three']);
});

t.test('JSON, XML and source code are text', async (t) => {
  t.match(await parseInProcess(utf8('{"a": [1, 2]}')), { kind: 'json', contentType: 'application/json' });
  t.match(await parseInProcess(utf8('<?xml version="1.0"?><note>hi</note>')), { kind: 'xml' });
  t.match(await parseInProcess(utf8('fn main() {}\n'), 'src/main.rs'), {
    kind: 'code',
    contentType: 'text/plain',
  });
});

t.test('text is decoded in every encoding, with or without a byte order mark', async (t) => {
  const text = 'Grüße aus Köln, 東京 и Москва.\n';
  const wide: [string, Uint8Array][] = [
    ['utf-8', utf8(text)],
    ['utf-8 with mark', utf8(`\ufeff${text}`)],
    ['utf-16le', utf16(text, 'le', true)],
    ['utf-16be', utf16(text, 'be', true)],
    ['utf-16le without mark', utf16(text, 'le', false)],
    ['utf-16be without mark', utf16(text, 'be', false)],
    ['utf-32le', utf32(text, 'le', true)],
    ['utf-32be', utf32(text, 'be', true)],
    ['utf-32le without mark', utf32(text, 'le', false)],
    ['utf-32be without mark', utf32(text, 'be', false)],
  ];
  for (const [name, bytes] of wide) t.same((await parseInProcess(bytes, 'a.txt')).pages, [text], name);
});

t.test('legacy encodings are detected from the bytes', async (t) => {
  const cases: [string, number[], string][] = [
    [
      'windows-1252',
      [0x43, 0x61, 0x66, 0xe9, 0x20, 0x93, 0x61, 0x94, 0x20, 0x64, 0x61, 0x6e, 0x73],
      'Café “a” dans',
    ],
    [
      'shift_jis',
      [0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea, 0x82, 0xcc, 0x83, 0x65, 0x83, 0x4c, 0x83, 0x58, 0x83, 0x67],
      '日本語のテキスト',
    ],
    [
      'euc-jp',
      [0xc6, 0xfc, 0xcb, 0xdc, 0xb8, 0xec, 0xa4, 0xce, 0xa5, 0xc6, 0xa5, 0xad, 0xa5, 0xb9, 0xa5, 0xc8],
      '日本語のテキスト',
    ],
    [
      'windows-1251',
      [0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2, 0x2c, 0x20, 0xec, 0xe8, 0xf0, 0x21],
      'Привет, мир!',
    ],
    ['koi8-r', [0xf0, 0xd2, 0xc9, 0xd7, 0xc5, 0xd4, 0x2c, 0x20, 0xcd, 0xc9, 0xd2, 0x21], 'Привет, мир!'],
    ['gb18030', [0xd6, 0xd0, 0xce, 0xc4, 0xce, 0xc4, 0xb1, 0xbe], '中文文本'],
    ['euc-kr', [0xc7, 0xd1, 0xb1, 0xb9, 0xbe, 0xee], '한국어'],
  ];
  for (const [charset, bytes, text] of cases) {
    const document = await parseInProcess(Uint8Array.from(bytes), 'a.txt');
    t.same(document.pages, [text], charset);
    t.equal(document.contentType, `text/plain; charset=${charset}`);
  }
  const declared = Buffer.concat([
    utf8('<html><meta charset="shift_jis"><p>'),
    Buffer.from([0x93, 0xfa, 0x96, 0x7b]),
  ]);
  t.same((await parseInProcess(declared)).pages, ['日本']);
});

t.test('one invalid byte does not change the detected encoding from UTF-8', async (t) => {
  const bytes = Buffer.concat([utf8('äöü€äöü '.repeat(20)), Buffer.from([0xff]), utf8(' end')]);
  const document = await parseInProcess(bytes, 'a.txt');
  t.match(document.pages[0], /^äöü€äöü .* \ufffd end$/);
  t.match(document.warnings, [/not valid utf-8/]);
});

t.test('pages never contain a lone surrogate', async (t) => {
  const document = await parseInProcess(utf16('a\ud800b and more text', 'le', true));
  t.same(document.pages, ['a\ufffdb and more text']);
});

t.test('the type is detected from the content, not from the name', async (t) => {
  const cases: [string, Uint8Array, string][] = [
    ['report.docx', buildPdf(['x']), 'pdf'],
    ['old.doc', buildDocx(['x']), 'docx'],
    ['page.pdf', utf8('<html><body>x</body></html>'), 'html'],
    ['table.txt', buildXlsx([{ name: 'S', rows: [['x']] }]), 'xlsx'],
    ['data.csv', buildPptx([{ title: 'x' }]), 'pptx'],
    ['image.png', utf8('just a few words'), 'text'],
    ['data.csv', utf8('a,b\n1,2\n'), 'csv'],
    ['data.txt', utf8('a,b\n1,2\n'), 'text'],
    ['README.md', utf8('<p align="center">logo</p>\n\n# Name\n'), 'markdown'],
    ['page.xhtml', utf8('<?xml version="1.0"?><html xmlns="x"><body>x</body></html>'), 'xhtml'],
    ['bmw.txt', utf8('BMW is a maker of cars.'), 'text'],
  ];
  for (const [path, bytes, kind] of cases) t.equal((await parseInProcess(bytes, path)).kind, kind, path);
});

t.test('the type is detected without a name', async (t) => {
  const table = Array.from({ length: 6 }, (_, i) => `${i},x,"y, z"`).join('\n');
  t.equal((await parseInProcess(utf8(table))).kind, 'csv');
  t.equal((await parseInProcess(utf8('# A\n\ntext\n\n## B\n\n- item\n'))).kind, 'markdown');
  t.equal((await parseInProcess(utf8('Dear all, one, two, three.\nBest, me, too.\n'))).kind, 'text');
});

t.test('each recognized but unsupported type is rejected by name', async (t) => {
  const openDocument = (type: string) =>
    buildZip({ mimetype: `application/vnd.oasis.opendocument.${type}`, 'content.xml': '<x/>' });
  const cases: [string, Uint8Array, RegExp][] = [
    ['zero bytes', new Uint8Array(), /empty/],
    ['an OpenDocument drawing', openDocument('graphics'), /graphics/],
    ['Visio', compoundFile(['VisioDocument']), /\(VSD\)/],
    ['ZIP', buildZip({ 'a.txt': 'x', 'inner.zip': buildZip({ b: 'y' }) }), /ZIP archive/],
    [
      'AVIF',
      Buffer.from('0000001c6674797061766966000000006d696631617669666d696166', 'hex'),
      /image \(AVIF\)/,
    ],
    [
      'text with NULs',
      utf8('some words\0\0\0\0 and more words '.repeat(9)),
      /binary data of an unknown type/,
    ],
    ['unknown', Uint8Array.from({ length: 999 }, (_, i) => (i * 7) & 255), /binary data of an unknown type/],
  ];
  for (const [name, bytes, sentence] of cases) {
    const refused = await parseFailureOf(bytes, 'file.txt');
    t.equal(refused.code, 'unsupported', name);
    t.match(refused.message, sentence, name);
  }
});

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
    ['a PDF of its header only', utf8('%PDF-1.7\n')],
    ['a cut Word document', truncateBytes(sound, 0.6)],
    [
      'a Word document without its main part',
      buildZip({ '[Content_Types].xml': '<T/>', '_rels/.rels': rels }),
    ],
    [
      'a Word document that is cut inside its XML',
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

t.test('the language is detected by script and function words, and short texts have none', async (t) => {
  const cases: [string, string | null][] = [
    [english, 'en'],
    [
      'Der Hund und die Katze sind nicht in dem Haus, das der alte Mann mit seiner Frau für sich gebaut hat.',
      'de',
    ],
    [
      'Le chat et le chien ne sont pas dans la maison que le vieil homme a construite pour les enfants de son frère.',
      'fr',
    ],
    [
      'El perro y el gato no están en la casa que el hombre había construido para los hijos de su hermano.',
      'es',
    ],
    ['Кошка и собака не в доме, который старик построил для своих детей, чтобы они жили там.', 'ru'],
    ['これは日本語で書かれた文章です。図書館で本を借りました。', 'ja'],
    ['이것은 한국어로 쓰인 문장입니다. 도서관에서 책을 빌렸습니다.', 'ko'],
    ['这是用中文写的一段文字，讲的是在图书馆借书的事情。', 'zh'],
    ['هذا نص مكتوب باللغة العربية عن استعارة الكتب من المكتبة.', 'ar'],
    ['Lorem ipsum', null],
    ['4711-abc-0815 9f3e-aa', null],
  ];
  for (const [text, language] of cases)
    t.equal((await parseInProcess(utf8(text), 'a.txt')).language, language, text);
});

t.test('the declared language is used unless the text contradicts it', async (t) => {
  const cases: [text: string, declared: string, language: string | null][] = [
    ['Granit, Basalt, Marmor', 'de-DE', 'de'],
    ['Invoice of March', 'en-US', 'en'],
    ['Die granitene Brücke trägt siebzehn Fässer Öl und wurde mit Mühe gebaut.', 'en-US', null],
    ['Мост над водой и старая река', 'en-US', null],
    ['Η γέφυρα πάνω από τον ποταμό', 'en-US', 'el'],
    ['Hið íslenska bókmenntafélag', 'is', 'is'],
  ];
  for (const [text, declared, language] of cases)
    t.equal(
      (await parseInProcess(buildDocx([text], { language: declared }), 'a.docx')).language,
      language,
      text,
    );
});
