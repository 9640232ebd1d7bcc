import { gzipSync } from 'node:zlib';
import { zipSync } from 'fflate';
import { buildDocx, docxPart } from '../parsing/office-fixtures.ts';
import { buildOpenDocument } from '../parsing/open-document-fixtures.ts';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import { buildZip } from '../parsing/zip-fixtures.ts';
import { entityBomb, type SampleFile } from './hostile-files.ts';

const million = 1_000_000;

/** Small files that expand to large ones or violate assumptions of a parser. */
export function decompressionBombs(): SampleFile[] {
  const builders: Readonly<Record<string, () => Uint8Array | string>> = {
    'bomb.docx': () =>
      buildZip({ 'word/document.xml': docxPart(`<w:p><w:r><w:t>${'a'.repeat(150 * million)}`) }),
    'nested.zip': () => nestedZip(6),
    'many-entries.docx': () => zipWithManyEntries(60_000),
    'entities.docx': () =>
      buildDocx([], { parts: { 'word/document.xml': `${entityBomb}<w:document>&a11;</w:document>` } }),
    'entities.odt': () =>
      buildOpenDocument('text', '', { parts: { 'content.xml': `${entityBomb}<a>&a11;&file;</a>` } }),
    'entities.xml': () => `${entityBomb}<a>&a11;&file;</a>`,
    'entities.svg': () => `${entityBomb}<svg xmlns="http://www.w3.org/2000/svg"><text>&a11;</text></svg>`,
    'deep.html': () => `<html><body>${'<div>'.repeat(300_000)}deep${'</div>'.repeat(300_000)}`,
    'deep.docx': () => buildDocx([], { parts: { 'word/document.xml': docxPart('<w:p>'.repeat(200_000)) } }),
    'deep.json': () => `${'['.repeat(500_000)}${']'.repeat(500_000)}`,
    'deep.rtf': () => `{\\rtf1 ${'{'.repeat(500_000)}deep${'}'.repeat(500_000)}}`,
    'deep.eml': () => deepMail(2_000),
    'columns.csv': () => `${'a,'.repeat(2 * million)}\n`,
    'line.txt': () => 'word '.repeat(4 * million),
    'packed.gz': () => gzipSync(Buffer.alloc(100 * million)),
    'length.pdf': () => wrongLengths(),
    'loop.pdf': () => cyclicPageTree(),
    'quadratic.html': () => '<a '.repeat(300_000),
    'attributes.html': () => `<p ${Array.from({ length: 200_000 }, (_, i) => `a${i}=b`).join(' ')}>x`,
    'wide.bmp': () => wideBitmap(),
    'empty.docx': () => zipSync({}),
    'nothing.bin': () => new Uint8Array(0),
  };
  return Object.entries(builders).map(([name, make]) => {
    const bytes = make();
    return { name, bytes: typeof bytes === 'string' ? Buffer.from(bytes) : bytes };
  });
}

function nestedZip(depth: number): Uint8Array {
  let inner: Uint8Array = new Uint8Array(10 * million);
  for (let i = 0; i < depth; i += 1)
    inner = zipSync({ 'a.zip': inner, 'b.zip': inner, 'word/document.xml': inner }, { level: 9 });
  return inner;
}

function zipWithManyEntries(count: number): Uint8Array {
  const entry = new Uint8Array(1);
  const entries = Array.from({ length: count }, (_, i) => [`word/media/${i}.xml`, entry] as const);
  return zipSync(
    { ...Object.fromEntries(entries), 'word/document.xml': Buffer.from(docxPart('x')) },
    { level: 0 },
  );
}

function deepMail(depth: number): string {
  let mail = 'Content-Type: text/plain\r\n\r\ndeep\r\n';
  for (let i = 0; i < depth; i += 1)
    mail = `Content-Type: multipart/mixed; boundary=b${i}\r\n\r\n--b${i}\r\n${mail}--b${i}--\r\n`;
  return `From: a@example.com\r\nMIME-Version: 1.0\r\n${mail}`;
}

function wrongLengths(): Uint8Array {
  const plain = Buffer.from(buildPdf(['one', 'two'])).toString('latin1');
  return Buffer.from(plain.replaceAll(/\/Length \d+/g, '/Length 4294967295'), 'latin1');
}

/** A page tree that contains itself. */
function cyclicPageTree(): Uint8Array {
  const plain = Buffer.from(buildPdf(['one'])).toString('latin1');
  return Buffer.from(plain.replaceAll(/\/Kids ?\[[^\]]*\]/g, '/Kids[2 0 R 2 0 R]'), 'latin1');
}

/** A header that declares an image of 65,535 x 65,535 pixels. */
function wideBitmap(): Uint8Array {
  const bytes = Buffer.alloc(2_000);
  bytes.write('BM');
  bytes.writeUInt32LE(bytes.length, 2);
  bytes.writeUInt32LE(54, 10);
  bytes.writeUInt32LE(40, 14);
  bytes.writeInt32LE(65_535, 18);
  bytes.writeInt32LE(65_535, 22);
  bytes.writeUInt16LE(1, 26);
  bytes.writeUInt16LE(24, 28);
  return bytes;
}
