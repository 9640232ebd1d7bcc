import t from '../../../support/tap.ts';
import { utf8 } from '../../byte-fixtures.ts';
import { parseFailureOf, parseInProcess } from '../../parse-in-process.ts';

t.test('a notebook is parsed to Markdown with its text, code and output', async (t) => {
  const cells = [
    { cell_type: 'markdown', source: ['# The study\n', 'Some *text*'] },
    {
      cell_type: 'code',
      source: '# a comment\nprint(1)',
      outputs: [
        { output_type: 'stream', text: ['1\n'] },
        { output_type: 'display_data', data: { 'image/png': 'iVBORw0', 'text/plain': '<Figure>' } },
        { output_type: 'error', ename: 'ValueError', evalue: 'bad', traceback: ['x'] },
      ],
    },
    { cell_type: 'code', source: [], outputs: 'none' },
  ];
  const source = { cells, metadata: { language_info: { name: 'python' } }, nbformat: 4, nbformat_minor: 5 };
  const expected =
    '# The study\nSome *text*\n\n```python\n# a comment\nprint(1)\n```\n\n```\n1\n<Figure>\nValueError: bad\n```';
  for (const path of ['a.ipynb', null]) {
    const document = await parseInProcess(utf8(JSON.stringify(source)), path);
    t.match(document, { kind: 'notebook', title: 'The study', headings: true, unordered: false });
    t.same(document.pages, [expected]);
  }
  const old = {
    nbformat: 3,
    worksheets: [
      {
        cells: [
          { cell_type: 'heading', level: 2, source: 'Old' },
          { cell_type: 'code', input: ['x'] },
        ],
      },
    ],
  };
  t.same((await parseInProcess(utf8(JSON.stringify(old)))).pages, ['## Old\n\n```\nx\n```']);
  t.equal((await parseFailureOf(utf8('{"cells": [], "nbformat": 4}'))).code, 'corrupt');
  t.equal(
    (await parseInProcess(utf8('{"cells": [broken'), 'a.ipynb')).kind,
    'code',
    'JSON that is not a notebook is text',
  );
});
