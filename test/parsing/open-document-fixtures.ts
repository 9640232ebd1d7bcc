import { buildZip, escapeXml } from './zip-fixtures.ts';

/** Builders of OpenDocument files and EPUB books. */

const spaces =
  'xmlns:office="urn:o" xmlns:text="urn:t" xmlns:table="urn:ta" xmlns:draw="urn:d" xmlns:style="urn:s" xmlns:fo="urn:f" ' +
  'xmlns:svg="urn:v" xmlns:presentation="urn:p" xmlns:dc="urn:dc" xmlns:meta="urn:m"';

export interface OpenDocumentOptions {
  readonly title?: string;
  readonly language?: string;
  /** Content of `office:automatic-styles`. */
  readonly styles?: string;
  readonly parts?: Readonly<Record<string, string | Uint8Array>>;
}

export function buildOpenDocument(
  type: 'text' | 'presentation' | 'spreadsheet',
  body: string,
  { title = '', language = '', styles = '', parts = {} }: OpenDocumentOptions = {},
): Uint8Array {
  const mediaType = `application/vnd.oasis.opendocument.${type}`;
  return buildZip({
    mimetype: mediaType,
    'META-INF/manifest.xml': `<!DOCTYPE manifest:manifest PUBLIC "-//OpenOffice.org//DTD" "Manifest.dtd"><manifest:manifest xmlns:manifest="urn:mf"><manifest:file-entry manifest:full-path="/" manifest:media-type="${mediaType}"/></manifest:manifest>`,
    'meta.xml': `<office:document-meta ${spaces}><office:meta><dc:title>${escapeXml(title)}</dc:title><dc:language>${language}</dc:language></office:meta></office:document-meta>`,
    'content.xml': `<?xml version="1.0" encoding="UTF-8"?><office:document-content ${spaces}><office:automatic-styles>${styles}</office:automatic-styles><office:body><office:${type}>${body}</office:${type}></office:body></office:document-content>`,
    ...parts,
  });
}

/** OpenDocument paragraph. */
export function odfParagraph(text: string, style = 'Standard'): string {
  return `<text:p text:style-name="${style}">${escapeXml(text)}</text:p>`;
}

export interface EpubChapter {
  readonly name: string;
  readonly html: string;
}

export interface EpubOptions {
  readonly title?: string;
  readonly language?: string;
  readonly parts?: Readonly<Record<string, string | Uint8Array>>;
}

/** Builds a book; its parts are stored backwards, so that only the spine defines the order. */
export function buildEpub(
  chapters: readonly EpubChapter[],
  { title = '', language = 'en', parts = {} }: EpubOptions = {},
): Uint8Array {
  const items = chapters.map(
    ({ name }, i) => `<item id="c${i}" href="${encodeURI(name)}" media-type="application/xhtml+xml"/>`,
  );
  const spine = chapters.map((_, i) => `<itemref idref="c${i}"/>`).join('');
  const files = chapters.map(({ name, html }) => [`OEBPS/${name}`, html] as const).reverse();
  return buildZip({
    mimetype: 'application/epub+zip',
    'META-INF/container.xml':
      '<container><rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
    'OEBPS/book.opf': `<package xmlns:dc="urn:dc"><metadata><dc:title>${escapeXml(title)}</dc:title><dc:language>${language}</dc:language></metadata><manifest>${items.reverse().join('')}</manifest><spine>${spine}</spine></package>`,
    ...Object.fromEntries(files),
    ...parts,
  });
}
