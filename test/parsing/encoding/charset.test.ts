import t from 'tap';
import { decodeText } from '../../../src/parsing/encoding/charset.ts';
import { utf8, utf16, utf32 } from '../fixtures.ts';

/** Bytes of each character of an encoding, found by decoding every byte and every pair. */
const tables = new Map<string, Map<string, number[]>>();

/** Encodings without a platform decoder: characters used in the texts below, from a given byte on. */
const dosTables: Readonly<Record<string, readonly (readonly [number, string])[]>> = {
  ibm437: [
    [0x80, 'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿'],
    [0xb9, '╣║╗╝'],
    [0xc8, '╚╔╩╦╠═╬'],
    [0xe1, 'ß'],
  ],
  ibm850: [
    [0x80, 'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿'],
    [0xb5, 'ÁÂÀ'],
    [0xb9, '╣║╗╝'],
    [0xc6, 'ãÃ╚╔╩╦╠═╬'],
    [0xe1, 'ßÔÒõÕ'],
  ],
  ibm852: [
    [0x80, 'ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę'],
    [0xab, 'ź'],
    [0xb5, 'ÁÂĚŞ'],
    [0xbd, 'Żż'],
    [0xd4, 'ďŇÍÎě'],
    [0xe0, 'ÓßÔŃńňŠšŔÚŕŰýÝ'],
    [0xfb, 'űŘř'],
  ],
};

function tableOf(charset: string): Map<string, number[]> {
  const known = tables.get(charset) ?? dosTableOf(charset);
  if (known !== undefined) return known;
  const decoder = new TextDecoder(charset, { fatal: true });
  const table = new Map<string, number[]>();
  const add = (bytes: number[]) => {
    try {
      const text = decoder.decode(Uint8Array.from(bytes));
      if ([...text].length === 1 && !table.has(text)) table.set(text, bytes);
    } catch {
      // these bytes encode no character
    }
  };
  for (let byte = 0; byte < 256; byte++) add([byte]);
  if (/^(?:shift|euc|gb|big)/.test(charset)) {
    for (let lead = 0x81; lead < 0xff; lead++)
      for (let trail = 0x40; trail < 0xff; trail++) add([lead, trail]);
  }
  // The decoder of Node 20 treats windows-1252 as ISO 8859-1.
  if (charset === 'windows-1252') {
    [...'€‚„…†‘’“”•–—šœž'].forEach((character) => {
      table.set(character, [
        {
          '€': 0x80,
          '‚': 0x82,
          '„': 0x84,
          '…': 0x85,
          '†': 0x86,
          '‘': 0x91,
          '’': 0x92,
          '“': 0x93,
          '”': 0x94,
          '•': 0x95,
          '–': 0x96,
          '—': 0x97,
          š: 0x9a,
          œ: 0x9c,
          ž: 0x9e,
        }[character]!,
      ]);
    });
  }
  tables.set(charset, table);
  return table;
}

function dosTableOf(charset: string): Map<string, number[]> | undefined {
  const parts = dosTables[charset];
  if (parts === undefined) return undefined;
  const ascii = Array.from({ length: 0x80 }, (_, byte) => [String.fromCharCode(byte), [byte]] as const);
  const high = parts.flatMap(([first, text]) => [...text].map((one, i) => [one, [first + i]] as const));
  return new Map([...ascii, ...high].map(([character, bytes]) => [character, [...bytes]]));
}

function encoded(text: string, charset: string): Uint8Array {
  const table = tableOf(charset);
  const form = charset === 'windows-1258' ? vietnamese(text) : text;
  return Uint8Array.from(
    [...form].flatMap((character) => {
      const bytes = table.get(character);
      if (bytes === undefined) throw new Error(`${charset} has no ${character}`);
      return bytes;
    }),
  );
}

/** Decomposes tone marks but keeps other marks composed, as windows-1258 encodes them. */
function vietnamese(text: string): string {
  return text
    .normalize('NFD')
    .replace(/[a-z][\u0302\u0306\u031b]/giu, (letter) => letter.normalize('NFC'))
    .replace(/(?<=[\u1ea0-\u1ef9])/gu, '');
}

const russian = 'Съешь же ещё этих мягких французских булок да выпей чаю.';
const lowerRussian = 'он пришёл домой поздно вечером';
const ukrainian = 'Їхня дорога йшла через ліс і поле до великого міста.';
const greek = 'Η γρήγορη αλεπού πηδά πάνω από τον Άγιο σκύλο.';
const polish = 'Zażółć gęślą jaźń, proszę państwa, w każdą środę.';
const czech = 'Příliš žluťoučký kůň úpěl ďábelské ódy v Praze.';
const hungarian = 'Árvíztűrő tükörfúrógép és egy őszinte szűk út.';
const turkish = 'Pijamalı hasta yağız şoföre çabucak güvendi, ışık söndü.';
const french = 'Le cœur déçu mais l’âme plutôt naïve, à Noël où ça gèle.';
const german = 'Zwölf Boxkämpfer jagen Viktor quer über den großen Deich.';
const westernSentence = 'Die Brücke trägt siebzehn Fässer über den Fluß.';
const lithuanian = 'Įlinkdama fechtuotojo špaga sublykčiojusi pragręžė apvalų arbūzą.';
const arabic = 'هذا نص مكتوب باللغة العربية عن الكتب';
const simplified = '这是用中文写的一段文字，讲的是在图书馆借书的事情。';
const traditional = '這是用中文寫的一段文字，講的是在圖書館借書的事情。';
const japanese = 'これは日本語で書かれた文章です。図書館で本を借りました。';
const korean = '이것은 한국어로 쓰인 문장입니다. 도서관에서 책을 빌렸습니다.';

/** Text, charsets in which it must be detected correctly, and the number of bytes: short texts are the hard cases. */
const cases: readonly (readonly [string, readonly string[]])[] = [
  [russian, ['windows-1251', 'koi8-r', 'iso-8859-5', 'ibm866', 'x-mac-cyrillic']],
  [lowerRussian, ['windows-1251', 'koi8-r', 'iso-8859-5', 'ibm866']],
  ['Привет', ['windows-1251', 'koi8-r']],
  [ukrainian, ['windows-1251', 'koi8-u']],
  [
    `A note on the word "${lowerRussian.slice(0, 9)}", which is a verb of motion in the past tense.`,
    ['windows-1251', 'koi8-r'],
  ],
  [greek, ['windows-1253', 'iso-8859-7']],
  [polish, ['windows-1250', 'iso-8859-2', 'ibm852']],
  [czech, ['windows-1250', 'iso-8859-2', 'ibm852']],
  [hungarian, ['windows-1250', 'iso-8859-2', 'ibm852']],
  [turkish, ['windows-1254']],
  [french, ['windows-1252']],
  [french.replace('’', "'"), ['windows-1252', 'iso-8859-15', 'macintosh']],
  [german, ['windows-1252', 'macintosh', 'ibm437', 'ibm850']],
  [westernSentence, ['windows-1252', 'macintosh', 'ibm437', 'ibm850']],
  ['╔═══════╗\n║ Größe ║\n╚═══════╝\n', ['ibm437', 'ibm850']],
  ['Les élèves préfèrent la forêt à côté de la rivière.', ['windows-1252', 'macintosh', 'ibm437', 'ibm850']],
  ['A situação não é tão má como parece, irmão.', ['windows-1252', 'macintosh', 'ibm850']],
  ['Preis: 20 € für Öl', ['windows-1252', 'iso-8859-15']],
  ['Müller', ['windows-1252', 'ibm850']],
  ['El niño comió piña: ¿dónde está?', ['windows-1252', 'macintosh', 'ibm850']],
  ['Blåbærsyltetøy på øya', ['windows-1252', 'ibm850']],
  ['Þetta er íslenska og það er gott að lesa hana á kvöldin í rólegheitum, sagði hún.', ['windows-1252']],
  [lithuanian, ['windows-1257', 'iso-8859-13']],
  ['Granīta tilts pār upi tika atvērts tūkstoš astoņi simti ceturtajā gadā.', ['windows-1257', 'iso-8859-4']],
  ['שלום עולם, זהו טקסט בעברית', ['windows-1255']],
  [arabic, ['windows-1256', 'iso-8859-6']],
  ['นี่คือข้อความภาษาไทย', ['windows-874']],
  [japanese, ['shift_jis', 'euc-jp']],
  ['日本語のテキスト', ['shift_jis', 'euc-jp']],
  ['名前,住所\n田中太郎,東京都千代田区\n鈴木花子,大阪府大阪市\n', ['shift_jis', 'euc-jp']],
  [korean, ['euc-kr']],
  ['한국어', ['euc-kr']],
  [simplified, ['gb18030']],
  ['中文文本', ['gb18030']],
  [traditional, ['big5']],
  ['A few words of English and 中文 in one line.', ['gb18030', 'big5']],
];

t.test('seventy bytes of text suffice to detect each common encoding', async (t) => {
  for (const [text, charsets] of cases) {
    for (const charset of charsets) {
      const decoded = decodeText(encoded(text, charset));
      t.equal(decoded.text, text, `${charset} (taken for ${decoded.charset}): ${text.slice(0, 30)}`);
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
