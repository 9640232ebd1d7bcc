import { deflateSync } from 'node:zlib';
import { zipSync } from 'fflate';
import { Corpus } from './corpus.ts';

/** Generated documents of any size: the same bytes for the same seed. */
export interface GeneratedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Amount of content in the unit of the speed figure. */
  readonly amount: number;
}

const linesPerPage = 46;
const unitsPerLine = 84;

/** Generates a PDF report in Helvetica: one column, a footer with the page number, 46 lines per page. */
export function generateReport(pages: number, seed: number): GeneratedFile {
  const lines = new LineGenerator(seed);
  const objects: Buffer[] = [
    latin1('<</Type/Catalog/Pages 2 0 R>>'),
    latin1(
      `<</Type/Pages/Count ${pages}/Kids[${Array.from({ length: pages }, (_, i) => `${4 + 2 * i} 0 R`).join(' ')}]>>`,
    ),
    latin1('<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>'),
  ];
  for (let page = 0; page < pages; page++) {
    const text = lines.take(linesPerPage).map((line) => `(${line.replace(/[\\()]/g, '\\$&')}) Tj T*`);
    const content = deflateSync(
      latin1(`BT /F1 11 Tf 14 TL 60 740 Td ${text.join(' ')} ET BT /F1 9 Tf 300 40 Td (${page + 1}) Tj ET`),
    );
    objects.push(
      latin1(
        `<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents ${5 + 2 * page} 0 R/Resources<</Font<</F1 3 0 R>>>>>>`,
      ),
      streamOf('/Filter/FlateDecode', content),
    );
  }
  return { name: 'report.pdf', bytes: pdfOf(objects), amount: pages };
}

/** Generates a page whose content takes any parser minutes. */
export function generateHangingPage(): Uint8Array {
  const words = latin1(`BT /F1 1 Tf 1 TL 0 700 Td ${'(over and over again) Tj T* '.repeat(4_000_000)} ET`);
  return pdfOf([
    latin1('<</Type/Catalog/Pages 2 0 R>>'),
    latin1('<</Type/Pages/Count 1/Kids[4 0 R]>>'),
    latin1('<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>'),
    latin1(
      '<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 5 0 R/Resources<</Font<</F1 3 0 R>>>>>>',
    ),
    streamOf('/Filter/FlateDecode', deflateSync(words)),
  ]);
}

/** Generates pages that are images without readable text. */
export function generateScannedPages(pages: number): Uint8Array {
  const side = 64;
  const dots = Buffer.from(Array.from({ length: side * side }, (_, i) => ((i * 7_919) % 97) * 2));
  const image = `/Type/XObject/Subtype/Image/Width ${side}/Height ${side}/ColorSpace/DeviceGray/BitsPerComponent 8`;
  const kids = Array.from({ length: pages }, (_, i) => `${5 + i} 0 R`).join(' ');
  const page =
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</XObject<</I 3 0 R>>>>>>';
  return pdfOf([
    latin1('<</Type/Catalog/Pages 2 0 R>>'),
    latin1(`<</Type/Pages/Count ${pages}/Kids[${kids}]>>`),
    streamOf(`${image}/Filter/FlateDecode`, deflateSync(dots)),
    streamOf('', latin1('q 300 0 0 300 0 0 cm /I Do Q')),
    ...Array.from({ length: pages }, () => latin1(page)),
  ]);
}

function streamOf(entries: string, content: Buffer): Buffer {
  const head = latin1(`<</Length ${content.length}${entries}>>\nstream\n`);
  return Buffer.concat([head, content, latin1('\nendstream')]);
}

function pdfOf(objects: readonly Buffer[]): Uint8Array {
  const pieces = [latin1('%PDF-1.4\n')];
  let offset = pieces[0]!.length;
  const rows = objects.map((body, i) => {
    const whole = Buffer.concat([latin1(`${i + 1} 0 obj\n`), body, latin1('\nendobj\n')]);
    pieces.push(whole);
    offset += whole.length;
    return `${String(offset - whole.length).padStart(10, '0')} 00000 n \n`;
  });
  const size = objects.length + 1;
  const tail = `xref\n0 ${size}\n0000000000 65535 f \n${rows.join('')}trailer\n<</Size ${size}/Root 1 0 R>>\nstartxref\n${offset}\n%%EOF\n`;
  return Buffer.concat([...pieces, latin1(tail)]);
}

const columns = 10;
const relationships = 'http://schemas.openxmlformats.org';
const wordNames = `${relationships}/wordprocessingml/2006/main`;
const wordType = 'application/vnd.openxmlformats-officedocument.wordprocessingml';

/** Generates a workbook of one sheet: shared strings and numbers, ten columns. */
export function generateWorkbook(cells: number, seed: number): GeneratedFile {
  const strings = new LineGenerator(seed).take(500).map((line) => line.slice(0, 24));
  const rows = Array.from({ length: Math.ceil(cells / columns) }, (_, row) => {
    const fields = Array.from({ length: columns }, (_, column) => {
      const name = `${String.fromCharCode(65 + column)}${row + 1}`;
      return column % 2 === 0
        ? `<c r="${name}" t="s"><v>${(row * 7 + column) % strings.length}</v></c>`
        : `<c r="${name}"><v>${row * columns + column}.5</v></c>`;
    });
    return `<row r="${row + 1}">${fields.join('')}</row>`;
  });
  const parts = {
    'xl/workbook.xml': `<workbook xmlns="urn:x" xmlns:r="urn:r"><sheets><sheet name="Data" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relations([
      ['rId1', 'worksheet', 'worksheets/sheet1.xml'],
      ['rId2', 'sharedStrings', 'sharedStrings.xml'],
    ]),
    'xl/worksheets/sheet1.xml': `<worksheet xmlns="urn:x"><sheetData>${rows.join('')}</sheetData></worksheet>`,
    'xl/sharedStrings.xml': `<sst xmlns="urn:x">${strings.map((text) => `<si><t>${text}</t></si>`).join('')}</sst>`,
  };
  return {
    name: 'table.xlsx',
    bytes: zipOfficeFile('xl/workbook.xml', parts),
    amount: rows.length * columns,
  };
}

/** Generates a Word document of paragraphs and headings; the amount is in megabytes of text. */
export function generateLetter(megabytes: number, seed: number): GeneratedFile {
  const lines = new LineGenerator(seed);
  const blocks: string[] = [];
  let units = 0;
  while (units < megabytes * 1_000_000) {
    const heading = blocks.length % 12 === 0;
    const text = heading ? lines.take(1)[0]!.slice(0, 40) : lines.take(6).join(' ');
    units += text.length;
    const style = heading ? '<w:pPr><w:pStyle w:val="H1"/></w:pPr>' : '';
    const runs = (text.match(/.{1,120}/gs) ?? []).map(
      (run) => `<w:r><w:rPr><w:sz w:val="22"/></w:rPr><w:t xml:space="preserve">${run}</w:t></w:r>`,
    );
    blocks.push(`<w:p>${style}${runs.join('')}</w:p>`);
  }
  const parts = {
    'word/document.xml': `<w:document xmlns:w="${wordNames}"><w:body>${blocks.join('')}</w:body></w:document>`,
    'word/styles.xml': `<w:styles xmlns:w="${wordNames}"><w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style></w:styles>`,
    'word/_rels/document.xml.rels': relations([['rId1', 'styles', 'styles.xml']]),
  };
  return { name: 'letter.docx', bytes: zipOfficeFile('word/document.xml', parts), amount: units / 1e6 };
}

/**
 * Generates a web page of headings, paragraphs, links, lists and tables; the amount is in megabytes of
 * markup.
 */
export function generateWebPage(megabytes: number, seed: number): GeneratedFile {
  const lines = new LineGenerator(seed);
  const pieces = ['<!doctype html><html lang="en"><head><title>Page</title></head><body>'];
  for (let units = 0, block = 0; units < megabytes * 1_000_000; block++) {
    const piece = generateWebBlock(block, lines);
    units += piece.length;
    pieces.push(piece);
  }
  const bytes = Buffer.from(`${pieces.join('\n')}</body></html>`);
  return { name: 'page.html', bytes, amount: bytes.length / 1e6 };
}

function generateWebBlock(block: number, lines: LineGenerator): string {
  if (block % 9 === 0) return `<h2 class="section">${lines.take(1)[0]?.slice(0, 50)}</h2>`;
  if (block % 9 === 5) {
    const rows = lines
      .take(4)
      .map((line) => `<tr><td>${line.split(' ').slice(0, 4).join('</td><td>')}</td></tr>`);
    return `<table>${rows.join('')}</table>`;
  }
  if (block % 9 === 7)
    return `<ul>${lines
      .take(3)
      .map((line) => `<li>${line}</li>`)
      .join('')}</ul>`;
  const [first, ...more] = lines.take(5);
  return `<p id="p${block}"><a href="#p${block}">${first}</a> ${more.join(' ')} &amp; <em>so on</em>.</p>`;
}

function zipOfficeFile(main: string, parts: Readonly<Record<string, string>>): Uint8Array {
  const whole = {
    '[Content_Types].xml': `<Types xmlns="${relationships}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="${wordType}.document.main+xml"/><Override PartName="/word/styles.xml" ContentType="${wordType}.styles+xml"/></Types>`,
    '_rels/.rels': relations([['rId1', 'officeDocument', main]]),
    ...parts,
  };
  const entries = Object.entries(whole).map(([name, text]) => [name, Buffer.from(text)] as const);
  return zipSync(Object.fromEntries(entries), { level: 6 });
}

function relations(entries: readonly (readonly [string, string, string])[]): string {
  const items = entries.map(
    ([id, type, target]) =>
      `<Relationship Id="${id}" Type="${relationships}/officeDocument/2006/relationships/${type}" Target="${target}"/>`,
  );
  return `<Relationships xmlns="${relationships}/package/2006/relationships">${items.join('')}</Relationships>`;
}

/** Generator of lines of text. */
class LineGenerator {
  readonly #corpus: Corpus;
  #buffered: string[] = [];
  #next = 0;

  constructor(seed: number) {
    this.#corpus = new Corpus({ seed, documents: 1_000_000, wordsPerDocument: 2_000, topics: 20 });
  }

  take(count: number): string[] {
    while (this.#buffered.length < count) {
      const { text } = this.#corpus.document(this.#next++);
      const pattern = new RegExp(`.{1,${unitsPerLine}}(?= |$)`, 'gm');
      this.#buffered.push(...(text.replace(/\s+/g, ' ').match(pattern) ?? []).map((line) => line.trim()));
    }
    return this.#buffered.splice(0, count);
  }
}

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}
