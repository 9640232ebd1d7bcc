import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { unzipSync, zipSync } from 'fflate';
import { buildDoc, buildWord6 } from '../parsing/doc-fixtures.ts';
import { buildBmp } from '../parsing/image-fixtures.ts';
import { buildDocx, buildPptx, buildXlsx } from '../parsing/office-fixtures.ts';
import { buildEpub, buildOpenDocument, odfParagraph } from '../parsing/open-document-fixtures.ts';
import { buildPdf, buildScannedPdf } from '../parsing/pdf-fixtures.ts';
import { buildPpt } from '../parsing/ppt-fixtures.ts';
import { buildXls } from '../parsing/xls-fixtures.ts';
import type { TestRandom } from '../storage/test-random.ts';

/** Document to be mutated. */
export interface SampleFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const fileBytesMax = 20_000_000;
const entryBytesMax = 5_000_000;
const text = 'The harbour master signed every delivery note before noon.';
const rows = [
  ['Barrel', 'Weight'],
  ['Herring', '120'],
  ['Salt', '40'],
];
/** Boundary values written over lengths, counts and offsets. */
const edgeNumbers = [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff];

/** Documents of most formats, created by the fixture builders of the tests. */
export function sampleFiles(): SampleFile[] {
  const picture = { width: 64, height: 32, pixels: new Uint8Array(64 * 32).map((_, i) => (i * 7) % 256) };
  const page = `<html><head><title>Ledger</title></head><body><h1>Ledger</h1><p>${text}</p><table><tr><td>1</td></tr></table></body></html>`;
  const mail = `From: ada@example.com\r\nTo: ben@example.com\r\nSubject: Herring\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n${text}\r\n--b\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(page).toString('base64')}\r\n--b--\r\n`;
  const notebook = {
    cells: [{ cell_type: 'markdown', source: [text] }],
    metadata: {},
    nbformat: 4,
    nbformat_minor: 5,
  };
  const builders: Readonly<Record<string, Uint8Array | string>> = {
    'letter.docx': buildDocx([
      { heading: 1, text: 'Ledger' },
      text,
      { table: rows },
      { footnote: 'A note.', text },
    ]),
    'talk.pptx': buildPptx([
      { title: 'Herring', body: [text], notes: 'Notes.', table: rows },
      { title: 'Salt' },
    ]),
    'sums.xlsx': buildXlsx([
      {
        name: 'Sums',
        rows: [
          ['Salt', 1, true, null],
          [{ date: 45_000 }, { inline: 'x' }],
        ],
      },
    ]),
    'report.pdf': buildPdf([text, `${text} Page two.`, 'Page three.']),
    'scan.pdf': buildScannedPdf([picture]),
    'letter.doc': buildDoc([
      { text: 'Ledger', style: 1 },
      { text },
      { text: 'cell', end: 'cell' },
      { text, end: 'page' },
    ]),
    'old.doc': buildWord6(text),
    'sums.xls': buildXls([
      {
        name: 'Sums',
        rows: [
          ['Salt', 1, true, null],
          [{ date: 45_000 }, { formula: 'x' }],
        ],
      },
    ]),
    'talk.ppt': buildPpt([{ title: 'Herring', body: [text], notes: 'Notes.' }]),
    'letter.odt': buildOpenDocument('text', odfParagraph(text)),
    'book.epub': buildEpub([{ name: 'one.xhtml', html: page }]),
    'page.html': page,
    'mail.eml': mail,
    'notes.ipynb': JSON.stringify(notebook),
    'letter.rtf': `{\\rtf1\\ansi{\\fonttbl{\\f0 Times;}}\\f0\\fs24 ${text}\\par {\\b bold} \\u8364 ?\\cell\\row}`,
    'rows.csv': rows.map((row) => row.join(',')).join('\n'),
    'picture.bmp': buildBmp(picture),
    'plain.txt': text.repeat(20),
  };
  return Object.entries(builders).map(([name, bytes]) => ({
    name,
    bytes: typeof bytes === 'string' ? Buffer.from(bytes) : bytes,
  }));
}

/** Files below a folder, at most `filesMax`, smallest folders first. */
export function filesUnder(folder: string, filesMax: number): SampleFile[] {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile() && statSync(path).size <= fileBytesMax);
  return paths.slice(0, filesMax).map((path, i) => ({
    name: `${i}${extname(path)}`,
    bytes: readFileSync(path),
  }));
}

/** Returns a mutated copy and the name of the mutation. */
export function mutateFile(
  file: SampleFile,
  other: SampleFile,
  random: TestRandom,
): SampleFile & { damage: string } {
  const damages = Object.keys(mutations) as (keyof typeof mutations)[];
  const isZip = file.bytes[0] === 0x50 && file.bytes[1] === 0x4b;
  const usable = damages.filter((damage) => isZip || !damage.startsWith('entry'));
  const damage = usable[random.below(usable.length)]!;
  const bytes = mutations[damage](Buffer.from(file.bytes), Buffer.from(other.bytes), random);
  return { name: file.name, bytes, damage };
}

type Mutation = (bytes: Buffer, other: Buffer, random: TestRandom) => Uint8Array;

const mutations = {
  'bits flipped': (bytes, _other, random) => flipBits(bytes, random),
  truncated: (bytes, _other, random) => bytes.subarray(0, random.below(bytes.length + 1)),
  'number changed': (bytes, _other, random) => {
    const number = edgeNumbers[random.below(edgeNumbers.length)]!;
    for (let i = 1 + random.below(4); i > 0 && bytes.length > 4; i -= 1)
      bytes.writeUInt32LE(number, random.below(bytes.length - 4));
    return bytes;
  },
  'range of zeros': (bytes, _other, random) => {
    const from = random.below(bytes.length + 1);
    return bytes.fill(0, from, Math.min(bytes.length, from + random.below(512)));
  },
  'range repeated': (bytes, _other, random) => {
    const from = random.below(bytes.length + 1);
    const part = bytes.subarray(from, from + random.below(4_096));
    return Buffer.concat([
      bytes.subarray(0, from),
      ...Array.from({ length: 20 }, () => part),
      bytes.subarray(from),
    ]);
  },
  'range removed': (bytes, _other, random) => {
    const from = random.below(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + random.below(2_048))]);
  },
  'two files in one': (bytes, other, random) =>
    Buffer.concat([
      bytes.subarray(0, random.below(bytes.length + 1)),
      other.subarray(random.below(other.length + 1)),
    ]),
  'random bytes': (bytes, _other, random) => {
    const from = random.below(bytes.length + 1);
    const to = Math.min(bytes.length, from + random.below(1_024));
    for (let i = from; i < to; i += 1) bytes[i] = random.below(256);
    return bytes;
  },
  'entry damaged': (bytes, _other, random) =>
    mutateZipEntry(bytes, random, (entry) => flipBits(entry, random)),
  'entry of entities': (bytes, _other, random) =>
    mutateZipEntry(bytes, random, (entry) =>
      Buffer.concat([Buffer.from(entityBomb), withoutDeclaration(entry)]),
    ),
  'entry nested': (bytes, _other, random) =>
    mutateZipEntry(bytes, random, (entry) =>
      Buffer.from(nestElements(entry.toString('latin1'), 20_000), 'latin1'),
    ),
} satisfies Record<string, Mutation>;

export const entityBomb = `<?xml version="1.0"?><!DOCTYPE z [<!ENTITY a "aaaaaaaaaa">${Array.from(
  { length: 12 },
  (_, i) => `<!ENTITY a${i} "${`&${i === 0 ? 'a' : `a${i - 1}`};`.repeat(10)}">`,
).join('')}<!ENTITY file SYSTEM "file:///etc/passwd">]>`;

function withoutDeclaration(entry: Buffer): Buffer {
  const plain = entry.toString('latin1').replace(/^<\?xml[^>]*\?>/, '');
  return Buffer.from(plain.replace(/>([^<]+)</, '>&a11;&file;<'), 'latin1');
}

/** Nests the first element inside itself `depth` times. */
function nestElements(xml: string, depth: number): string {
  const name = /<([\w:]+)[ >]/.exec(xml.slice(xml.indexOf('?>') + 2))?.[1] ?? 'a';
  return xml.replace(/>([^<]*)</, (_, inner: string) => {
    return `>${`<${name}>`.repeat(depth)}${inner}${`</${name}>`.repeat(depth)}<`;
  });
}

function flipBits(bytes: Buffer, random: TestRandom): Buffer {
  for (let i = 1 + random.below(20); i > 0 && bytes.length > 0; i -= 1)
    bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
  return bytes;
}

/** Changes one entry of an archive; returns an unreadable archive unchanged. */
function mutateZipEntry(
  bytes: Buffer,
  random: TestRandom,
  change: (entry: Buffer) => Uint8Array,
): Uint8Array {
  try {
    const entries = unzipSync(bytes);
    const names = Object.keys(entries).filter((name) => entries[name]!.length < entryBytesMax);
    const name = names[random.below(names.length)];
    if (name === undefined) return bytes;
    return zipSync({ ...entries, [name]: change(Buffer.from(entries[name]!)) });
  } catch {
    return bytes;
  }
}
