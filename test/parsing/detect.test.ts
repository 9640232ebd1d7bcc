import t from '../support/tap.ts';
import { utf8 } from './byte-fixtures.ts';
import { compoundFile } from './compound-fixtures.ts';
import { buildDocx, buildPptx, buildXlsx } from './office-fixtures.ts';
import { parseFailureOf, parseInProcess } from './parse-in-process.ts';
import { buildPdf } from './pdf-fixtures.ts';
import { buildZip } from './zip-fixtures.ts';

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

t.test('the type is detected without a file name', async (t) => {
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
