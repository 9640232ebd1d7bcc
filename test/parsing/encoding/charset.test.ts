import { decodeText } from '../../../src/parsing/encoding/charset.ts';
import t from '../../support/tap.ts';
import { utf8, utf16, utf32 } from '../byte-fixtures.ts';
import {
  arabic,
  charsetCases,
  encoded,
  french,
  german,
  greek,
  japanese,
  korean,
  russian,
  simplified,
} from './charset-cases.ts';

t.test('seventy bytes of text suffice to detect each common encoding', async (t) => {
  for (const [text, charsets] of charsetCases) {
    for (const charset of charsets) {
      const decoded = decodeText(encoded(text, charset));
      t.equal(decoded.text, text, `${charset} (detected as ${decoded.charset}): ${text.slice(0, 30)}`);
    }
  }
});

t.test('Johab Korean is decoded', async (t) => {
  const johab =
    '88412e20b7a188f5b76520d0658a82b4e19da120b361b7a520a285b877b7b393a194612e2095a1ace189c5b541ace120c082' +
    'b76920a7a99d76af7393a194612e20f7d3f1ae20d96b208461';
  t.match(decodeText(Buffer.from(johab, 'hex')), {
    text: `ㄱ. ${korean} 漢字 ○ ㅏ`,
    charset: 'johab',
    warning: null,
  });
});

t.test('text with ASCII escape sequences is decoded, and similar ASCII text is not changed', async (t) => {
  const base64 = (text: string) =>
    Buffer.from(text, 'utf16le').swap16().toString('base64').replace(/=+$/, '');
  const seven = (text: string, charset: string) =>
    Buffer.from(encoded(text, charset).map((byte) => byte & 0x7f)).toString('latin1');
  const utf7 = (text: string) =>
    text.replaceAll('+', '+-').replace(/[^\0-\x7f]+/g, (part) => `+${base64(part)}-`);
  const escaped: [text: string, charset: string, ascii: string][] = [
    [`GB: ${simplified} ~ 中`, 'hz-gb-2312', `GB: ~{${seven(simplified, 'gb18030')}~} ~~ ~{VP~}`],
    ['中文', 'hz-gb-2312', '~\n~{VPND~}'],
    [
      '한국어 text, 책',
      'iso-2022-kr',
      `\x1b$)C\x0e${seven('한국어', 'euc-kr')}\x0f text, \x0e${seven('책', 'euc-kr')}\x0f`,
    ],
    ...[german, russian, greek, arabic, simplified, korean, `1 + 1 = 2, ${french}`].map(
      (text): [string, string, string] => [text, 'utf-7', utf7(text)],
    ),
  ];
  for (const [text, charset, ascii] of escaped)
    t.match(decodeText(utf8(ascii)), { text, charset, warning: null }, charset);
  for (const ascii of [
    'a ~{b~} and ~{another}, ~~strike~~ it',
    '~{abcdefgh~}',
    'f(x) = a+b; c++; +49 30 123456; x+AOQ-y +AND+ z',
    'car+bus, car+bus, tram+bus',
    'SGVsbG8+d29y/bGQ+Zm9vYmFyYmF6cXV4+Y29kZQ==',
  ])
    t.match(decodeText(utf8(ascii)), { text: ascii, charset: 'utf-8' });
});

t.test('all Unicode encodings are decoded, with and without a byte order mark', async (t) => {
  for (const text of ['Grüße aus Köln, 東京 и Москва.\n', 'a\n', russian, `${japanese}\n`, 'x'.repeat(71)]) {
    const forms: [string, Uint8Array][] = [
      ['utf-8', utf8(text)],
      ['utf-8 with mark', utf8(`\ufeff${text}`)],
      ['utf-16le with mark', utf16(text, 'le', true)],
      ['utf-16be with mark', utf16(text, 'be', true)],
      ['utf-32le with mark', utf32(text, 'le', true)],
      ['utf-32be with mark', utf32(text, 'be', true)],
      ['utf-32le', utf32(text, 'le', false)],
      ['utf-32be', utf32(text, 'be', false)],
    ];
    if (/[ a-z\n]/.test(text))
      forms.push(['utf-16le', utf16(text, 'le', false)], ['utf-16be', utf16(text, 'be', false)]);
    for (const [name, bytes] of forms) t.equal(decodeText(bytes).text, text, `${name}: ${text.slice(0, 12)}`);
  }
});

t.test('UTF-16 without a byte order mark is detected without spaces and line ends', async (t) => {
  const texts = [
    '古い採石場は山の向こうにあります。毎朝、職人たちは石灰岩を切り出すために山を登ります。',
    '老采石场在大山后面，工人每天清晨上山开采石灰石和花岗岩，运到城里去。',
    '오래된채석장은산너머에있습니다.일꾼들은매일아침석회암을캐러산에올라갑니다.',
  ];
  for (const text of texts) {
    t.equal(decodeText(utf16(text, 'le', false)).text, text, text.slice(0, 8));
    t.equal(decodeText(utf16(text, 'be', false)).text, text, text.slice(0, 8));
  }
});
