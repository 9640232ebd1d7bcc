import t from '../../../support/tap.ts';
import { utf8, utf16 } from '../../byte-fixtures.ts';
import { compoundFileOf } from '../../compound-fixtures.ts';
import { parseFailureOf, parseInProcess } from '../../parse-in-process.ts';

const head =
  'From: Ann <ann@example.com>\r\nTo: Bob <bob@example.com>\r\nDate: Fri, 16 Dec 2022 17:04:16 -0500\r\n';

function buildMail(rest: string): Uint8Array {
  return utf8(`${head}MIME-Version: 1.0\r\n${rest}`);
}

t.test('a mail is one page with subject, sender, recipients, date, text and attachment names', async (t) => {
  const bytes = buildMail(
    [
      'Subject: =?utf-8?B?R3LDvMOfZQ==?= & more',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain; charset=iso-8859-1',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      'Sch=F6ne =93Gr=FC=DFe=94',
      '--b',
      'Content-Type: application/pdf; name="offer.pdf"',
      'Content-Disposition: attachment; filename="offer.pdf"',
      'Content-Transfer-Encoding: base64',
      '',
      'JVBERi0=',
      '--b--',
    ].join('\r\n'),
  );
  const document = await parseInProcess(bytes);
  t.match(document, { kind: 'eml', title: 'Grüße & more', contentType: 'message/rfc822', unordered: false });
  t.same(document.pages, [
    '# Grüße & more\n\nFrom: Ann <ann@example.com>\nTo: Bob <bob@example.com>\n' +
      'Date: Fri, 16 Dec 2022 17:04:16 -0500\n\nSchöne “Grüße”\n\nAttachment: offer.pdf',
  ]);
});

t.test('attached mails follow the text, each with its subject, up to ten levels', async (t) => {
  const attached = (inner: string, level: number) =>
    [
      `Subject: about ${level}`,
      `Content-Type: multipart/mixed; boundary=m${level}`,
      '',
      `--m${level}`,
      'Content-Type: text/plain',
      '',
      `text ${level}`,
      `--m${level}`,
      'Content-Type: message/rfc822',
      `Content-Disposition: attachment; filename="inner ${level}.eml"`,
      '',
      inner,
      `--m${level}--`,
    ].join('\r\n');
  let nested = 'Subject: innermost\r\n\r\nthe core';
  for (let level = 14; level > 0; level--) nested = attached(nested, level);
  const { pages } = await parseInProcess(buildMail(nested));
  t.match(pages[0], /^# about 1\n[\s\S]*\n\ntext 1\n\nAttachment: inner 1\.eml\n\n# about 2\n\ntext 2\n\n/);
  t.match(pages[0], /# about 11\n\ntext 11\n\nAttachment: inner 11\.eml$/);
});

t.test('an attached mail of only mailbox lines is parsed in linear time', async (t) => {
  for (const inner of ['From nobody', 'From x\n'.repeat(100_000)]) {
    const { pages } = await parseInProcess(
      buildMail(
        [
          'Subject: outer',
          'Content-Type: multipart/mixed; boundary=b',
          '',
          '--b',
          'Content-Type: text/plain',
          '',
          'the text',
          '--b',
          'Content-Type: message/rfc822',
          'Content-Disposition: attachment; filename="inner.eml"',
          'Content-Transfer-Encoding: base64',
          '',
          Buffer.from(inner).toString('base64'),
          '--b--',
        ].join('\r\n'),
      ),
    );
    t.match(pages[0], /^# outer\n[\s\S]*\n\nthe text\n\nAttachment: inner\.eml/);
  }
});

t.test(
  'a single mail with its mailbox line is parsed, and a mailbox with several mails is rejected',
  async (t) => {
    const one = `From bob Mon Nov  2 10:00:00 2026\n${head}Subject: kept\n\nFrom here on: words\n\nFrom there, too\n`;
    const document = await parseInProcess(utf8(one));
    t.match(document, { kind: 'eml', title: 'kept' });
    t.match(document.pages[0], /^# kept\n\nFrom: Ann [\s\S]*\n\nFrom here on: words\n\nFrom there, too$/);
    t.match(await parseFailureOf(utf8(`${one}\n${one}`)), { code: 'unsupported', message: /mailbox/ });
  },
);

t.test('a mail with only HTML is parsed to its visible text, in every encoding', async (t) => {
  const html =
    'Subject: News\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<style>p{}</style><p>Seen &amp; read: é</p>';
  t.match((await parseInProcess(buildMail(html))).pages[0], /^# News\n[\s\S]*\n\nSeen & read: é$/);
  const wide = `${head}MIME-Version: 1.0\r\nSubject: Wide\r\nContent-Type: text/plain; charset="utf-16"\r\n\r\nBody: é東`;
  for (const endian of ['le', 'be'] as const) {
    t.match(
      (await parseInProcess(utf16(wide, endian, true))).pages[0],
      /^# Wide\n[\s\S]*\n\nBody: é東$/,
      endian,
    );
  }
});

t.test(
  'mails with a hundred levels, ten thousand parts, digests or unknown encodings are parsed',
  async (t) => {
    let nested = 'Content-Type: text/plain\r\n\r\nthe core';
    for (let i = 0; i < 100; i++) {
      nested = `Content-Type: multipart/mixed; boundary=x${i}\r\n\r\n--x${i}\r\n${nested}\r\n--x${i}--\r\n`;
    }
    t.match((await parseInProcess(buildMail(nested))).pages[0], /the core/);
    let inner = 'Subject: deepest\r\n\r\nend';
    for (let i = 0; i < 100; i++)
      inner = `Subject: level ${i}\r\nContent-Type: message/rfc822\r\n\r\n${inner}`;
    t.match((await parseInProcess(buildMail(inner))).pages[0], /level 95/);
    const parts = Array.from(
      { length: 10_000 },
      (_, i) => `--p\r\nContent-Type: text/plain\r\n\r\npart ${i}\r\n`,
    );
    const many = buildMail(`Content-Type: multipart/mixed; boundary=p\r\n\r\n${parts.join('')}--p--\r\n`);
    t.match((await parseInProcess(many)).pages[0], /part 0\n[\s\S]*part 9999/);
    const strange = buildMail('Content-Type: text/plain; charset=klingon\r\n\r\nplain words');
    t.match((await parseInProcess(strange)).pages[0], /plain words/);
    const digest = ['first', 'second'].map(
      (text) => `--d\r\n\r\nSubject: the ${text}\r\n\r\n${text} text\r\n`,
    );
    const collected = buildMail(
      `Content-Type: multipart/digest; boundary=d\r\n\r\n${digest.join('')}--d--\r\n`,
    );
    t.match(
      (await parseInProcess(collected)).pages[0],
      /the first[\s\S]*first text[\s\S]*the second[\s\S]*second text/,
    );
    const deep = Array.from(
      { length: 400 },
      (_, i) => `Content-Type: multipart/mixed; boundary=y${i}\r\n\r\n--y${i}\r\n`,
    );
    t.equal((await parseFailureOf(buildMail(deep.join('')))).code, 'too_large');
  },
);

const wide = (text: string) => Buffer.from(text, 'utf16le');

/** Attribute of `winmail.dat` with one property. */
function tnefAttribute(name: number, value: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head[0] = 1;
  head.writeUInt32LE(name, 1);
  head.writeUInt32LE(value.length, 5);
  return Buffer.concat([head, value, Buffer.alloc(2)]);
}
function tnefProperty(tag: number, value: Uint8Array): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt32LE(tag, 0);
  head.writeUInt32LE(1, 4);
  head.writeUInt32LE(value.length, 8);
  return Buffer.concat([head, value, Buffer.alloc((4 - (value.length % 4)) % 4)]);
}

t.test('a mail with winmail.dat is parsed with its text and attachment names', async (t) => {
  const packed = Buffer.from(
    '2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0',
    'hex',
  );
  const number = Buffer.from('0300fd3fe4040000', 'hex');
  const named = Buffer.concat([
    Buffer.from('03000180', 'hex'),
    Buffer.alloc(16),
    Buffer.from('000000000700000009000000', 'hex'),
  ]);
  const properties = (...all: Uint8Array[]) =>
    tnefAttribute(0x69003, Buffer.concat([Buffer.alloc(4, 1), number, named, ...all]));
  const title = tnefAttribute(0x18010, utf8('report.xls\0'));
  const page = tnefAttribute(0x69007, Buffer.from('e304000000000000', 'hex'));
  const cases: [Uint8Array[], RegExp][] = [
    [
      [page, tnefAttribute(0x2800c, Buffer.from('\xcf\xf0\xe8\0', 'latin1')), title],
      /^# x\n[\s\S]*\n\nПри\n\nAttachment: winmail.dat\nAttachment: report.xls$/,
    ],
    [[properties(tnefProperty(0x1000001f, wide('plain words\0')))], /\n\nplain words\n\nAttachment/],
    [[properties(tnefProperty(0x10130102, utf8('<p>marked <b>words</b>')))], /\n\nmarked words\n\n/],
    [[properties(tnefProperty(0x10090102, packed))], /\n\nhello world\n\n/],
    [[Buffer.from('010203', 'hex')], /\n\nAttachment: winmail.dat$/],
  ];
  for (const [attributes, words] of cases) {
    const file = Buffer.concat([Buffer.from('789f3e220100', 'hex'), ...attributes]).toString('base64');
    const part = `--w\r\nContent-Type: application/ms-tnef; name="winmail.dat"\r\nContent-Transfer-Encoding: base64\r\n\r\n${file}\r\n--w--`;
    const bytes = buildMail(`Subject: x\r\nContent-Type: multipart/mixed; boundary=w\r\n\r\n${part}`);
    t.match((await parseInProcess(bytes)).pages[0], words);
  }
});

t.test('an encrypted mail is rejected', async (t) => {
  for (const type of [
    'application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m',
    'multipart/encrypted; protocol="application/pgp-encrypted"; boundary=b',
  ]) {
    t.equal((await parseFailureOf(buildMail(`Content-Type: ${type}\r\n\r\nMIIB`))).code, 'encrypted', type);
  }
});

/** Stream of fixed properties: a header, then a tag and eight bytes for each property. */
function fixedProperties(headBytes: number, values: readonly (readonly [number, bigint])[]): Uint8Array {
  const bytes = Buffer.alloc(headBytes + values.length * 16);
  values.forEach(([tag, value], i) => {
    bytes.writeUInt32LE(tag, headBytes + i * 16);
    bytes.writeBigUInt64LE(value, headBytes + i * 16 + 8);
  });
  return bytes;
}

t.test('an Outlook message is parsed like a mail, with attachment names and embedded messages', async (t) => {
  const submitted = BigInt(Date.UTC(2022, 11, 16) + 11_644_473_600_000) * 10_000n;
  const inner = '__attach_version1.0_#00000001/__substg1.0_3701000D';
  const bytes = compoundFileOf({
    '__properties_version1.0': fixedProperties(32, [
      [0x3ffd0003, 1_251n],
      [0x00390040, submitted],
    ]),
    '__substg1.0_0037001F': wide('Offer & more'),
    '__substg1.0_0C1A001F': wide('Ann'),
    '__substg1.0_0C1F001F': wide('ann@example.com'),
    '__substg1.0_0E04001F': wide('Bob'),
    '__substg1.0_1000001E': Uint8Array.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]),
    '__attach_version1.0_#00000000/__substg1.0_3707001F': wide('offer.pdf'),
    '__attach_version1.0_#00000000/__substg1.0_37010102': new Uint8Array(5_000),
    [`${inner}/__substg1.0_0037001F`]: wide('Inside'),
    [`${inner}/__substg1.0_10130102`]: utf8('<p>Inner <b>text</b></p>'),
  });
  const document = await parseInProcess(bytes, 'a.bin');
  t.match(document, { kind: 'msg', title: 'Offer & more', contentType: 'application/vnd.ms-outlook' });
  t.same(document.pages, [
    '# Offer & more\n\nFrom: Ann <ann@example.com>\nTo: Bob\nDate: 2022-12-16T00:00:00.000Z\n\nПривет\n\n' +
      'Attachment: offer.pdf\n\n# Inside\n\nInner text',
  ]);
});

t.test(
  'an Outlook message with only compressed RTF is parsed, and an encrypted one is rejected',
  async (t) => {
    // Example from [MS-OXRTFCP] 3.1: a literal run and references into the window.
    const packed = Buffer.from(
      '2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0',
      'hex',
    );
    const message = compoundFileOf({ '__substg1.0_0037001F': wide('x'), '__substg1.0_10090102': packed });
    t.match((await parseInProcess(message)).pages[0], /hello world/);
    const secret = compoundFileOf({ '__substg1.0_001A001F': wide('IPM.Note.SMIME') });
    t.equal((await parseFailureOf(secret)).code, 'encrypted');
  },
);
