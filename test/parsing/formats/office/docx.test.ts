import t from '../../../support/tap.ts';
import { buildDocx, buildPptx, relationsPart } from '../../office-fixtures.ts';
import { parseFailureOf, parseInProcess } from '../../parse-in-process.ts';

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
