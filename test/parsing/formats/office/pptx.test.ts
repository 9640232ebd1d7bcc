import t from '../../../support/tap.ts';
import { buildPptx, relationsPart } from '../../office-fixtures.ts';
import { parseInProcess } from '../../parse-in-process.ts';

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
