import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import type { GrayscaleImage } from './image-fixtures.ts';

export interface PdfOptions {
  readonly title?: string;
  /** In points; default 612 x 792. */
  readonly mediaBox?: readonly [number, number, number, number];
  readonly cropBox?: readonly [number, number, number, number];
  /** False value of `/Count`. */
  readonly claimedPageCount?: number;
  /** Text drawn at this position of every page, for example outside the crop box. */
  readonly extraText?: { readonly text: string; readonly x: number; readonly y: number };
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

function pageContent(text: string, { extraText }: PdfOptions): string {
  const lines = text.split('\n').map((line) => `(${line.replace(/[\\()]/g, '\\$&')}) Tj T*`);
  const body = `BT /F1 12 Tf 14 TL 72 720 Td ${lines.join(' ')} ET`;
  return extraText === undefined
    ? body
    : `${body} BT /F1 12 Tf ${extraText.x} ${extraText.y} Td (${extraText.text}) Tj ET`;
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
