import t from '../../support/tap.ts';
import { utf8, utf16, utf32 } from '../byte-fixtures.ts';
import { parseInProcess } from '../parse-in-process.ts';

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
