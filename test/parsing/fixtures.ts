import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { zipSync } from 'fflate';

/** Builders of small real files, used by the parsing tests and the end-to-end tests. */

/** Pseudorandom numbers in [0, 1), reproducible from the seed on every machine (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Returns a copy with `flips` random bits inverted. */
export function flipRandomBits(bytes: Uint8Array, seed: number, flips: number): Uint8Array {
  const random = seededRandom(seed);
  const copy = Uint8Array.from(bytes);
  for (let i = 0; i < flips; i++) copy[Math.floor(random() * copy.length)]! ^= 1 << Math.floor(random() * 8);
  return copy;
}

export function truncateBytes(bytes: Uint8Array, share: number): Uint8Array {
  return bytes.subarray(0, Math.floor(bytes.length * share));
}

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function utf16(text: string, endian: 'le' | 'be', withByteOrderMark: boolean): Uint8Array {
  const bytes = Buffer.from(withByteOrderMark ? `\ufeff${text}` : text, 'utf16le');
  return endian === 'le' ? bytes : bytes.swap16();
}

export function utf32(text: string, endian: 'le' | 'be', withByteOrderMark: boolean): Uint8Array {
  const points = [...(withByteOrderMark ? `\ufeff${text}` : text)].map(
    (character) => character.codePointAt(0)!,
  );
  const view = new DataView(new ArrayBuffer(points.length * 4));
  points.forEach((point, i) => {
    view.setUint32(i * 4, point, endian === 'le');
  });
  return new Uint8Array(view.buffer);
}

/** Builds a ZIP archive of texts and bytes. */
export function buildZip(entries: Readonly<Record<string, string | Uint8Array>>): Uint8Array {
  const files = Object.entries(entries).map(([name, content]) => [
    name,
    typeof content === 'string' ? utf8(content) : content,
  ]);
  return zipSync(Object.fromEntries(files), { level: 6 });
}

export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

const xmlHead = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const packageRelations = 'http://schemas.openxmlformats.org/package/2006/relationships';
const officeRelations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** A `.rels` part; each entry is `[id, last segment of the type, target]`. */
export function relationsPart(entries: readonly (readonly [string, string, string])[]): string {
  const items = entries.map(([id, type, target]) => {
    const space = type === 'core-properties' ? `${packageRelations}/metadata` : officeRelations;
    return `<Relationship Id="${id}" Type="${space}/${type}" Target="${target}"/>`;
  });
  return `${xmlHead}<Relationships xmlns="${packageRelations}">${items.join('')}</Relationships>`;
}

function corePart(title: string, language: string): string {
  return `${xmlHead}<cp:coreProperties xmlns:cp="urn:cp" xmlns:dc="urn:dc"><dc:title>${escapeXml(title)}</dc:title><dc:language>${language}</dc:language></cp:coreProperties>`;
}

const contentTypes = `${xmlHead}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>`;

export interface OfficeOptions {
  readonly title?: string;
  readonly language?: string;
  /** Parts to add or replace, by name. */
  readonly parts?: Readonly<Record<string, string | Uint8Array>>;
}

function officePackage(
  main: string,
  parts: Readonly<Record<string, string | Uint8Array>>,
  options: OfficeOptions,
): Uint8Array {
  return buildZip({
    '[Content_Types].xml': contentTypes,
    '_rels/.rels': relationsPart([
      ['rId1', 'officeDocument', main],
      ['rId2', 'core-properties', 'docProps/core.xml'],
    ]),
    'docProps/core.xml': corePart(options.title ?? '', options.language ?? ''),
    ...parts,
    ...options.parts,
  });
}

/** Block of a Word document; a plain string is a paragraph. */
export type DocxBlock =
  | string
  | { readonly heading: number; readonly text: string }
  | { readonly table: readonly (readonly string[])[] }
  | { readonly pageBreak: 'author' | 'rendered' }
  | { readonly footnote: string; readonly text: string }
  | { readonly xml: string };

/** Builds a Word document. */
export function buildDocx(blocks: readonly DocxBlock[], options: OfficeOptions = {}): Uint8Array {
  const footnotes: string[] = [];
  const body = blocks.map((block) => docxBlock(block, footnotes)).join('');
  const notes = footnotes.map(
    (text, i) =>
      `<w:footnote w:id="${i + 1}"><w:p><w:r><w:t>${escapeXml(text)}</w:t></w:r></w:p></w:footnote>`,
  );
  const styles = [1, 2, 3].map(
    (n) => `<w:style w:type="paragraph" w:styleId="H${n}"><w:name w:val="heading ${n}"/></w:style>`,
  );
  return officePackage(
    'word/document.xml',
    {
      'word/document.xml': docxPart(body),
      'word/styles.xml': `${xmlHead}<w:styles xmlns:w="urn:w">${styles.join('')}</w:styles>`,
      'word/footnotes.xml': `${xmlHead}<w:footnotes xmlns:w="urn:w">${notes.join('')}</w:footnotes>`,
      'word/_rels/document.xml.rels': relationsPart([
        ['rId1', 'styles', 'styles.xml'],
        ['rId2', 'footnotes', 'footnotes.xml'],
      ]),
    },
    options,
  );
}

/** `word/document.xml` with the given body. */
export function docxPart(body: string): string {
  return `${xmlHead}<w:document xmlns:w="urn:w" xmlns:mc="urn:mc"><w:body>${body}</w:body></w:document>`;
}

function docxBlock(block: DocxBlock, footnotes: string[]): string {
  if (typeof block === 'string') return `<w:p>${docxRun(block)}</w:p>`;
  if ('xml' in block) return block.xml;
  if ('heading' in block) {
    return `<w:p><w:pPr><w:pStyle w:val="H${block.heading}"/></w:pPr>${docxRun(block.text)}</w:p>`;
  }
  if ('table' in block) {
    const rows = block.table.map(
      (row) => `<w:tr>${row.map((cell) => `<w:tc><w:p>${docxRun(cell)}</w:p></w:tc>`).join('')}</w:tr>`,
    );
    return `<w:tbl>${rows.join('')}</w:tbl>`;
  }
  if ('pageBreak' in block) {
    return block.pageBreak === 'author'
      ? '<w:p><w:r><w:br w:type="page"/></w:r></w:p>'
      : '<w:p><w:r><w:lastRenderedPageBreak/></w:r></w:p>';
  }
  footnotes.push(block.footnote);
  return `<w:p>${docxRun(block.text)}<w:r><w:footnoteReference w:id="${footnotes.length}"/></w:r></w:p>`;
}

function docxRun(text: string): string {
  return `<w:r><w:t xml:space="preserve">${escapeXml(text)}</w:t></w:r>`;
}

export interface PptxSlide {
  readonly title?: string;
  readonly body?: readonly string[];
  readonly table?: readonly (readonly string[])[];
  readonly notes?: string;
  readonly hidden?: boolean;
}

/** Builds a presentation. The parts are numbered backwards, so that only the relationships define the order. */
export function buildPptx(slides: readonly PptxSlide[], options: OfficeOptions = {}): Uint8Array {
  const parts: Record<string, string> = {};
  const relations: [string, string, string][] = [];
  const ids: string[] = [];
  slides.forEach((slide, i) => {
    const number = slides.length - i;
    relations.push([`rId${number}`, 'slide', `slides/slide${number}.xml`]);
    ids.push(`<p:sldId id="${256 + i}" r:id="rId${number}"/>`);
    parts[`ppt/slides/slide${number}.xml`] = slidePart(slide);
    if (slide.notes === undefined) return;
    parts[`ppt/slides/_rels/slide${number}.xml.rels`] = relationsPart([
      ['rId1', 'notesSlide', `../notesSlides/notesSlide${number}.xml`],
    ]);
    parts[`ppt/notesSlides/notesSlide${number}.xml`] = notesPart(slide.notes);
  });
  parts['ppt/presentation.xml'] =
    `${xmlHead}<p:presentation xmlns:p="urn:p" xmlns:r="urn:r"><p:sldIdLst>${ids.join('')}</p:sldIdLst></p:presentation>`;
  parts['ppt/_rels/presentation.xml.rels'] = relationsPart(relations);
  return officePackage('ppt/presentation.xml', parts, options);
}

function slidePart({ title, body, table, hidden }: PptxSlide): string {
  const shapes = [
    title === undefined ? '' : shape('title', [title]),
    body === undefined ? '' : shape('body', body),
    table === undefined ? '' : slideTable(table),
    shape('sldNum', ['77']),
    shape('ftr', ['Footer of every slide']),
  ];
  const show = hidden === true ? ' show="0"' : '';
  return `${xmlHead}<p:sld xmlns:p="urn:p" xmlns:a="urn:a"${show}><p:cSld><p:spTree>${shapes.join('')}</p:spTree></p:cSld></p:sld>`;
}

function notesPart(notes: string): string {
  return `${xmlHead}<p:notes xmlns:p="urn:p" xmlns:a="urn:a"><p:cSld><p:spTree>${shape('body', [notes])}${shape('sldNum', ['77'])}</p:spTree></p:cSld></p:notes>`;
}

function shape(type: string, paragraphs: readonly string[]): string {
  const text = paragraphs.map((one) => `<a:p><a:r><a:t>${escapeXml(one)}</a:t></a:r></a:p>`).join('');
  return `<p:sp><p:nvSpPr><p:nvPr><p:ph type="${type}"/></p:nvPr></p:nvSpPr><p:txBody>${text}</p:txBody></p:sp>`;
}

function slideTable(rows: readonly (readonly string[])[]): string {
  const cell = (text: string) =>
    `<a:tc><a:txBody><a:p><a:r><a:t>${escapeXml(text)}</a:t></a:r></a:p></a:txBody></a:tc>`;
  return `<p:graphicFrame><a:tbl>${rows.map((row) => `<a:tr>${row.map(cell).join('')}</a:tr>`).join('')}</a:tbl></p:graphicFrame>`;
}

export type XlsxCell =
  | string
  | number
  | boolean
  | null
  | { readonly date: number }
  | { readonly inline: string };

export interface XlsxSheet {
  readonly name: string;
  readonly rows: readonly (readonly XlsxCell[])[];
}

/** Builds a workbook with shared strings; style 1 is a date. */
export function buildXlsx(sheets: readonly XlsxSheet[], options: OfficeOptions = {}): Uint8Array {
  const strings: string[] = [];
  const parts: Record<string, string> = {};
  sheets.forEach((sheet, i) => {
    parts[`xl/worksheets/sheet${i + 1}.xml`] = sheetPart(sheet, strings);
  });
  const list = sheets.map(
    ({ name }, i) => `<sheet name="${escapeXml(name)}" sheetId="${i + 1}" r:id="rId${i + 1}"/>`,
  );
  parts['xl/workbook.xml'] =
    `${xmlHead}<workbook xmlns="urn:x" xmlns:r="urn:r"><sheets>${list.join('')}</sheets></workbook>`;
  parts['xl/_rels/workbook.xml.rels'] = relationsPart([
    ...sheets.map((_, i) => [`rId${i + 1}`, 'worksheet', `worksheets/sheet${i + 1}.xml`] as const),
    ['rIdS', 'sharedStrings', 'sharedStrings.xml'],
    ['rIdT', 'styles', 'styles.xml'],
  ]);
  parts['xl/sharedStrings.xml'] =
    `${xmlHead}<sst xmlns="urn:x">${strings.map((text) => `<si><t>${escapeXml(text)}</t></si>`).join('')}</sst>`;
  parts['xl/styles.xml'] =
    `${xmlHead}<styleSheet xmlns="urn:x"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>`;
  return officePackage('xl/workbook.xml', parts, options);
}

function sheetPart({ rows }: XlsxSheet, strings: string[]): string {
  const lines = rows.map((row) => `<row>${row.map((cell) => cellXml(cell, strings)).join('')}</row>`);
  return `${xmlHead}<worksheet xmlns="urn:x"><sheetData>${lines.join('')}</sheetData></worksheet>`;
}

function cellXml(cell: XlsxCell, strings: string[]): string {
  if (cell === null) return '<c/>';
  if (typeof cell === 'number') return `<c><v>${cell}</v></c>`;
  if (typeof cell === 'boolean') return `<c t="b"><v>${cell ? 1 : 0}</v></c>`;
  if (typeof cell === 'string') return `<c t="s"><v>${strings.push(cell) - 1}</v></c>`;
  if ('date' in cell) return `<c s="1"><v>${cell.date}</v></c>`;
  return `<c t="inlineStr"><is><t>${escapeXml(cell.inline)}</t></is></c>`;
}

export interface PdfOptions {
  readonly title?: string;
  /** In points; default 612 x 792. */
  readonly mediaBox?: readonly [number, number, number, number];
  readonly cropBox?: readonly [number, number, number, number];
  /** False value of `/Count`. */
  readonly claimedPageCount?: number;
  /** Text drawn at this position of every page, for example outside the crop box. */
  readonly strayText?: { readonly text: string; readonly x: number; readonly y: number };
  /** Encrypts with RC4, 40 bits; an empty user password opens without a prompt. */
  readonly userPassword?: string;
  /** Content stream of every page, in place of its text. */
  readonly content?: Uint8Array;
  /** Content streams by page, in place of the texts. */
  readonly contents?: readonly string[];
  /** Outline entries, all on one level. */
  readonly outline?: readonly { readonly title: string; readonly page: number }[];
  /** `/Rotate` of every page. */
  readonly rotate?: number;
  /** Entries of every page's resources besides the font, and objects numbered from 1000. */
  readonly resources?: string;
  readonly objects?: readonly string[];
}

/** Builds a PDF with one page per text, in 12-point Helvetica; lines are split at `\n`. Only Latin-1 text. */
export function buildPdf(texts: readonly string[], options: PdfOptions = {}): Uint8Array {
  const [media, crop] = [options.mediaBox ?? [0, 0, 612, 792], options.cropBox];
  const id = 'quarry-fixture-1';
  const cipher = options.userPassword === undefined ? null : pdfCipher(options.userPassword, id);
  const objects = new Map<number, Buffer>();
  const put = (number: number, body: string) => objects.set(number, Buffer.from(body, 'latin1'));
  const stream = (number: number, content: Uint8Array) => {
    const packed = deflateSync(content);
    const data = cipher === null ? packed : cipher.encrypt(packed, number);
    const head = Buffer.from(`<</Length ${data.length}/Filter/FlateDecode>>\nstream\n`, 'latin1');
    objects.set(number, Buffer.concat([head, data, Buffer.from('\nendstream', 'latin1')]));
  };
  const pageRefs = texts.map((_, i) => `${10 + 2 * i} 0 R`).join(' ');
  put(1, `<</Type/Catalog/Pages 2 0 R${options.outline === undefined ? '' : '/Outlines 7 0 R'}>>`);
  putOutline(put, options.outline ?? []);
  put(2, `<</Type/Pages/Count ${options.claimedPageCount ?? texts.length}/Kids[${pageRefs}]>>`);
  put(3, '<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>');
  put(6, '<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold/Encoding/WinAnsiEncoding>>');
  put(4, `<</Title${pdfString(options.title ?? '', 4, cipher)}>>`);
  texts.forEach((text, i) => {
    const number = 10 + 2 * i;
    const boxes = `/MediaBox[${media.join(' ')}]${crop === undefined ? '' : `/CropBox[${crop.join(' ')}]`}`;
    put(
      number,
      `<</Type/Page/Parent 2 0 R${boxes}/Contents ${number + 1} 0 R/Rotate ${options.rotate ?? 0}/Resources<</Font<</F1 3 0 R/F2 6 0 R>>${options.resources ?? ''}>>>>`,
    );
    const content = options.contents?.[i] ?? pageContent(text, options);
    stream(number + 1, options.content ?? Buffer.from(content, 'latin1'));
  });
  options.objects?.forEach((body, i) => {
    put(1_000 + i, body);
  });
  if (cipher !== null) put(5, cipher.dictionary);
  return pdfFile(
    objects,
    `/Root 1 0 R/Info 4 0 R/ID[(${id})(${id})]${cipher === null ? '' : '/Encrypt 5 0 R'}`,
  );
}

function putOutline(
  put: (number: number, body: string) => void,
  entries: readonly { readonly title: string; readonly page: number }[],
): void {
  if (entries.length === 0) return;
  const last = 2_000 + entries.length - 1;
  put(7, `<</Type/Outlines/First 2000 0 R/Last ${last} 0 R/Count ${entries.length}>>`);
  entries.forEach(({ title, page }, i) => {
    const next = i === entries.length - 1 ? '' : `/Next ${2_001 + i} 0 R`;
    put(2_000 + i, `<</Title(${title})/Parent 7 0 R${next}/Dest[${10 + 2 * page} 0 R/Fit]>>`);
  });
}

/** Text at a position on a page, in points from the lower left corner. */
export interface PlacedText {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  /** In points; default 11. */
  readonly size?: number;
  readonly bold?: boolean;
  /** Rotation, counter-clockwise, in quarter turns. */
  readonly quarterTurns?: 0 | 1 | 2 | 3;
  /** Additional space between characters in points. */
  readonly spacing?: number;
}

/** Builds a PDF whose pages contain text at these positions, drawn in this order. */
export function buildPdfWithPlacedText(
  pages: readonly (readonly PlacedText[])[],
  options: PdfOptions = {},
): Uint8Array {
  const turns = ['1 0 0 1', '0 1 -1 0', '-1 0 0 -1', '0 -1 1 0'];
  const contents = pages.map((texts) =>
    texts
      .map(({ text, x, y, size, bold, quarterTurns, spacing }) => {
        const font = `/F${bold === true ? 2 : 1} ${size ?? 11} Tf ${spacing ?? 0} Tc`;
        return `BT ${font} ${turns[quarterTurns ?? 0]} ${x} ${y} Tm (${text.replace(/[\\()]/g, '\\$&')}) Tj ET`;
      })
      .join('\n'),
  );
  return buildPdf(
    pages.map(() => ''),
    { ...options, contents },
  );
}

function pageContent(text: string, { strayText }: PdfOptions): string {
  const lines = text.split('\n').map((line) => `(${line.replace(/[\\()]/g, '\\$&')}) Tj T*`);
  const body = `BT /F1 12 Tf 14 TL 72 720 Td ${lines.join(' ')} ET`;
  return strayText === undefined
    ? body
    : `${body} BT /F1 12 Tf ${strayText.x} ${strayText.y} Td (${strayText.text}) Tj ET`;
}

function pdfFile(objects: ReadonlyMap<number, Buffer>, trailer: string): Uint8Array {
  const pieces: Buffer[] = [Buffer.from('%PDF-1.4\n%\xe2\xe3\xcf\xd3\n', 'latin1')];
  let offset = pieces[0]!.length;
  const offsets = new Map<number, number>();
  for (const [number, body] of objects) {
    offsets.set(number, offset);
    const whole = Buffer.concat([
      Buffer.from(`${number} 0 obj\n`, 'latin1'),
      body,
      Buffer.from('\nendobj\n', 'latin1'),
    ]);
    pieces.push(whole);
    offset += whole.length;
  }
  const size = Math.max(...objects.keys()) + 1;
  const rows = Array.from({ length: size }, (_, number) => {
    const at = offsets.get(number);
    return at === undefined ? '0000000000 65535 f \n' : `${String(at).padStart(10, '0')} 00000 n \n`;
  });
  const tail = `xref\n0 ${size}\n${rows.join('')}trailer\n<</Size ${size}${trailer}>>\nstartxref\n${offset}\n%%EOF\n`;
  return Buffer.concat([...pieces, Buffer.from(tail, 'latin1')]);
}

interface PdfCipher {
  readonly dictionary: string;
  encrypt(data: Uint8Array, object: number): Buffer;
}

/** The standard security handler, revision 2. Source: PDF 1.7 reference, 3.5.2, algorithms 3.1 to 3.4. */
function pdfCipher(userPassword: string, id: string): PdfCipher {
  const padding = Buffer.from('28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a', 'hex');
  const padded = (password: string) =>
    Buffer.concat([Buffer.from(password, 'latin1'), padding]).subarray(0, 32);
  const md5 = (...parts: Uint8Array[]) => createHash('md5').update(Buffer.concat(parts)).digest();
  const permissions = Buffer.from([0xfc, 0xff, 0xff, 0xff]);
  const owner = rc4(md5(padded('owner')).subarray(0, 5), padded(userPassword));
  const key = md5(padded(userPassword), owner, permissions, Buffer.from(id, 'latin1')).subarray(0, 5);
  const user = rc4(key, padding);
  return {
    dictionary: `<</Filter/Standard/V 1/R 2/O<${owner.toString('hex')}>/U<${user.toString('hex')}>/P -4>>`,
    encrypt: (data, object) => {
      const number = Buffer.from([object & 255, (object >> 8) & 255, (object >> 16) & 255, 0, 0]);
      return rc4(md5(key, number).subarray(0, 10), data);
    },
  };
}

function pdfString(text: string, object: number, cipher: PdfCipher | null): string {
  const bytes = Buffer.from(text, 'latin1');
  return `<${(cipher === null ? bytes : cipher.encrypt(bytes, object)).toString('hex')}>`;
}

function rc4(key: Uint8Array, data: Uint8Array): Buffer {
  const state = Uint8Array.from({ length: 256 }, (_, i) => i);
  let j = 0;
  for (let i = 0; i < 256; i++) {
    j = (j + state[i]! + key[i % key.length]!) & 255;
    [state[i], state[j]] = [state[j]!, state[i]!];
  }
  const out = Buffer.alloc(data.length);
  let [x, y] = [0, 0];
  for (let n = 0; n < data.length; n++) {
    x = (x + 1) & 255;
    y = (y + state[x]!) & 255;
    [state[x], state[y]] = [state[y]!, state[x]!];
    out[n] = data[n]! ^ state[(state[x]! + state[y]!) & 255]!;
  }
  return out;
}

/** Grayscale image, one byte per pixel. */
export interface GrayscaleImage {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

/** Builds a PDF like a scanner's: each page is one full-page image without text. */
export function buildScannedPdf(pictures: readonly GrayscaleImage[]): Uint8Array {
  const objects = pictures.map(({ width, height, pixels }) => {
    const data = Buffer.from(deflateSync(pixels)).toString('latin1');
    const size = `/Width ${width}/Height ${height}/ColorSpace/DeviceGray/BitsPerComponent 8`;
    return `<</Type/XObject/Subtype/Image${size}/Filter/FlateDecode/Length ${data.length}>>\nstream\n${data}\nendstream`;
  });
  const names = pictures.map((_, i) => `/P${i} ${1_000 + i} 0 R`).join(' ');
  return buildPdf(
    pictures.map(() => ''),
    {
      resources: `/XObject<<${names}>>`,
      objects,
      contents: pictures.map((_, i) => `q 612 0 0 792 0 0 cm /P${i} Do Q`),
    },
  );
}

/** Builds a Windows bitmap with 24 bits per pixel, bottom row first. */
export function buildBmp({ width, height, pixels }: GrayscaleImage): Uint8Array {
  const stride = Math.ceil((width * 3) / 4) * 4;
  const bytes = Buffer.alloc(54 + stride * height);
  bytes.write('BM', 'latin1');
  bytes.writeUInt32LE(bytes.length, 2);
  bytes.writeUInt32LE(54, 10);
  bytes.writeUInt32LE(40, 14);
  bytes.writeInt32LE(width, 18);
  bytes.writeInt32LE(height, 22);
  bytes.writeUInt16LE(1, 26);
  bytes.writeUInt16LE(24, 28);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = 54 + (height - 1 - y) * stride + x * 3;
      bytes.fill(pixels[y * width + x]!, at, at + 3);
    }
  }
  return bytes;
}
