import t from '../../../support/tap.ts';
import { utf8 } from '../../byte-fixtures.ts';
import { parseInProcess } from '../../parse-in-process.ts';

t.test('CSV rows become unordered pages, quotes and line breaks inside fields included', async (t) => {
  const lines = Array.from({ length: 200 }, (_, i) => `${i};"name ""${i}""";"two\nlines"`);
  const document = await parseInProcess(utf8(`id;name;note\n${lines.join('\r\n')}\n`), 'data.csv');
  t.match(document, { kind: 'csv', unordered: true, contentType: 'text/csv' });
  t.match(document.pages[0], /^id\tname\tnote\n0\tname "0"\ttwo lines\n1\t/);
  t.equal(document.pages.join('\n').split('\n').length, 201);
  t.same((await parseInProcess(utf8('sep=;\r\na,b;c\r\n1,2;3\r\n'), 'data.csv')).pages, ['a,b\tc\n1,2\t3']);
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
