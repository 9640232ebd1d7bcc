import type { Texts } from '../../core/packed-texts.ts';
import type { ParseLimits } from '../limits.ts';
import type { ParseFailureData } from '../parse-failure.ts';

/** What kind of document the content turned out to be. */
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
  /** Well-formed text, never with a lone surrogate. A page without text is the empty string. */
  readonly pages: string[];
  /** True: pages are independent rows (CSV, workbooks); text must not be joined over a page's end. */
  readonly unordered: boolean;
  /** True: lines that start with 1 to 6 `#` and a space are headings (Markdown, HTML, EPUB, Office files). */
  readonly headings: boolean;
  /** The document's own title: metadata first, then its most prominent heading. */
  readonly title: string | null;
  /** ISO 639-1 code of the main language, from the text first, then from what the document declares. */
  readonly language: string | null;
  /** Whole sentences about what was left out. */
  readonly warnings: string[];
  /** False: its pages cannot be drawn, although those of its kind can. */
  readonly pageImages?: boolean;
}

/** What a parser says about a document when all its pages are out. */
export type DocumentInfo = Omit<ParsedDocument, 'pages'>;

interface FileTask {
  /** Absolute path of the stored bytes; never the user's path. */
  readonly file: string;
  /** Whose document it is: no parser process reads documents of two organizations. */
  readonly organizationId?: string;
  readonly limits?: Partial<ParseLimits>;
}

export interface ParseTask extends FileTask {
  readonly kind: 'parse';
  /** The user's path or file name, if known: its extension tells kinds of text apart and decides nothing else. */
  readonly path?: string | null;
}

export interface RenderTask extends FileTask {
  readonly kind: 'render';
  /** Zero-based page. */
  readonly page: number;
  /** Pixels; the page is drawn at `dotsPerInch` unless that is wider. */
  readonly widthMax?: number;
  /** Default 110. */
  readonly dotsPerInch?: number;
  /** JPEG quality 1..100, default 78. */
  readonly quality?: number;
}

export type ParserTask = ParseTask | RenderTask;

export type ParseOutcome = ParsedDocument | { readonly failure: ParseFailureData };
/** The same as it comes from a worker, which packs the pages. */
export type SentParseOutcome =
  | (DocumentInfo & { readonly pages: Texts })
  | { readonly failure: ParseFailureData };
/** JPEG bytes; null: a document of this kind has no page images. */
export type RenderOutcome = Uint8Array | null | { readonly failure: ParseFailureData };

export function isFailedOutcome(
  outcome: ParseOutcome | RenderOutcome,
): outcome is { readonly failure: ParseFailureData } {
  return outcome !== null && 'failure' in outcome;
}

const imageKinds: ReadonlySet<DocumentKind> = new Set(['png', 'jpeg', 'webp', 'gif', 'tiff', 'bmp', 'heic']);

const officeKinds: ReadonlySet<DocumentKind> = new Set(['docx', 'odt', 'doc', 'rtf', 'pptx', 'odp', 'ppt']);

/** Whether documents of this kind have page images. `office`: LibreOffice is there to draw those of Office files. */
export function hasPageImages(kind: DocumentKind, office: boolean): boolean {
  return kind === 'pdf' || imageKinds.has(kind) || (office && officeKinds.has(kind));
}
