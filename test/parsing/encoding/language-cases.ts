/** Text and its language as the parser detects it; null where none is clear. */
export const languageCases: readonly (readonly [string, string | null])[] = [
  [
    'The harbour wall was rebuilt in 1907, and the stone for it came from a quarry that is now under water.',
    'en',
  ],
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
  [
    'Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore.',
    null,
  ],
  ['const total = rows.map((row) => row.price * row.count).reduce((sum, value) => sum + value, 0);', null],
  ['Bolt M8x40, zinc; Washer 8.4; Nut M8; Bracket 120x80x3; Gasket DN50 PN16; Hinge 90 deg', null],
  ['Müller, Schmidt, Rossi, García, Dupont, Nowak, Kowalski, Jensen, Novák, Papadopoulos', null],
  ['ERROR net.socket timeout at conn.read (io.js:1180:12) retry=3 backoff=250ms host=db-2', null],
];
