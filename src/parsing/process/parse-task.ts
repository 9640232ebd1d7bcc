import type { Texts } from '../../core/packed-texts.ts';
import type { ParseLimits } from '../limits.ts';
import type { ParseFailureData } from '../parse-failure.ts';

/** Kinds of documents, detected by content. */
export const documentKinds = [
  'text',
  'markdown',
  'code',
  'json',
  'notebook',
  'xml',
  'csv',
  'tsv',
  'html',
  'xhtml',
  'pdf',
  'docx',
  'pptx',
  'xlsx',
  'odt',
  'odp',
  'ods',
  'epub',
  'rtf',
  'eml',
  'msg',
  'doc',
  'ppt',
  'xls',
  'png',
  'jpeg',
  'webp',
  'gif',
  'tiff',
  'bmp',
  'heic',
] as const;
export type DocumentKind = (typeof documentKinds)[number];

export interface ParsedDocument {
  readonly kind: DocumentKind;
  /** Media type of the bytes, without parameters except `charset` for text that is not UTF-8. */
  readonly contentType: string;
  /** Well-formed text without lone surrogates. A page without text is the empty string. */
  readonly pages: string[];
  /**
   * True: pages are independent groups of rows (CSV, workbooks), so text must not be joined across a page
   * end.
   */
  readonly unordered: boolean;
  /**
   * Whether lines that start with 1 to 6 `#` and a space are headings (Markdown, HTML, EPUB, Office files).
   */
  readonly headings: boolean;
  /** Title of the document: from metadata, else its most prominent heading. */
  readonly title: string | null;
  /** ISO 639-1 code of the main language: from the text, else as declared by the document. */
  readonly language: string | null;
  /** Complete sentences about omitted content. */
  readonly warnings: string[];
  /** False: this document has no page images although its kind has them. */
  readonly pageImages?: boolean;
}

/** Information that a parser returns after the last page of a document. */
export type DocumentInfo = Omit<ParsedDocument, 'pages'>;

interface FileTask {
  /** Absolute path of the stored bytes; never the user's path. */
  readonly file: string;
  /** Organization that owns the document: no parser process reads documents of two organizations. */
  readonly organizationId?: string;
  readonly limits?: Partial<ParseLimits>;
}

export interface ParseTask extends FileTask {
  readonly kind: 'parse';
  /** User-supplied path or file name, if known; its extension only distinguishes kinds of text. */
  readonly path?: string | null;
}

export interface RenderTask extends FileTask {
  readonly kind: 'render';
  /** Zero-based page. */
  readonly page: number;
  /** Pixels; the page is rendered at `dotsPerInch` unless that exceeds this width. */
  readonly widthMax?: number;
  /** Default 110. */
  readonly dotsPerInch?: number;
  /** JPEG quality 1..100, default 78. */
  readonly quality?: number;
}

export type ParserTask = ParseTask | RenderTask;

export type ParseOutcome = ParsedDocument | { readonly failure: ParseFailureData };
/** Outcome as sent by a worker, which packs the pages. */
export type PackedParseOutcome =
  | (DocumentInfo & { readonly pages: Texts })
  | { readonly failure: ParseFailureData };
/** JPEG bytes; null when documents of this kind have no page images. */
export type RenderOutcome = Uint8Array | null | { readonly failure: ParseFailureData };

export function isFailedOutcome(
  outcome: ParseOutcome | RenderOutcome,
): outcome is { readonly failure: ParseFailureData } {
  return outcome !== null && 'failure' in outcome;
}

const imageKinds: ReadonlySet<DocumentKind> = new Set(['png', 'jpeg', 'webp', 'gif', 'tiff', 'bmp', 'heic']);

const officeKinds: ReadonlySet<DocumentKind> = new Set(['docx', 'odt', 'doc', 'rtf', 'pptx', 'odp', 'ppt']);

/**
 * Whether documents of this kind have page images. `office`: LibreOffice is available to render Office files.
 */
export function hasPageImages(kind: DocumentKind, office: boolean): boolean {
  return kind === 'pdf' || imageKinds.has(kind) || (office && officeKinds.has(kind));
}
