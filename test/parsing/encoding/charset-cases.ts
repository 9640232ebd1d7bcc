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

/** Returns the bytes of a text. Throws when the charset lacks a character. */
export function encoded(text: string, charset: string): Uint8Array {
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

export const russian = 'Съешь же ещё этих мягких французских булок да выпей чаю.';
const lowerRussian = 'он пришёл домой поздно вечером';
const ukrainian = 'Їхня дорога йшла через ліс і поле до великого міста.';
export const greek = 'Η γρήγορη αλεπού πηδά πάνω από τον Άγιο σκύλο.';
const polish = 'Zażółć gęślą jaźń, proszę państwa, w każdą środę.';
const czech = 'Příliš žluťoučký kůň úpěl ďábelské ódy v Praze.';
const hungarian = 'Árvíztűrő tükörfúrógép és egy őszinte szűk út.';
const turkish = 'Pijamalı hasta yağız şoföre çabucak güvendi, ışık söndü.';
export const french = 'Le cœur déçu mais l’âme plutôt naïve, à Noël où ça gèle.';
export const german = 'Zwölf Boxkämpfer jagen Viktor quer über den großen Deich.';
const westernSentence = 'Die Brücke trägt siebzehn Fässer über den Fluß.';
const lithuanian = 'Įlinkdama fechtuotojo špaga sublykčiojusi pragręžė apvalų arbūzą.';
export const arabic = 'هذا نص مكتوب باللغة العربية عن الكتب';
export const simplified = '这是用中文写的一段文字，讲的是在图书馆借书的事情。';
const traditional = '這是用中文寫的一段文字，講的是在圖書館借書的事情。';
export const japanese = 'これは日本語で書かれた文章です。図書館で本を借りました。';
export const korean = '이것은 한국어로 쓰인 문장입니다. 도서관에서 책을 빌렸습니다.';

/** Text, charsets in which it must be detected correctly, and the number of bytes: short texts are the hard cases. */
export const charsetCases: readonly (readonly [string, readonly string[]])[] = [
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
