import { buildZip, escapeXml } from './zip-fixtures.ts';

/** Builders of Word, Excel and PowerPoint files in Open XML. */

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
