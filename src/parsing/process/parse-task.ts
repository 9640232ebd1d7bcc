import type { EncodedPages } from '../../core/line-box-codec.ts';
import type { LineBoxes } from '../../core/line-boxes.ts';
import type { Texts } from '../../core/packed-texts.ts';
import type { ParseLimits } from '../limits.ts';
import type { ParseFailureData } from '../parse-failure.ts';

/** Whether pages have images; `with-office`: if LibreOffice is available. */
export type PageImageAvailability = 'always' | 'with-office' | 'never';

export interface ParsedDocument {
  /** Kind of the format, see formats/registry.ts. */
  readonly kind: string;
  /** Media type of the bytes, without parameters except `charset` for text that is not UTF-8. */
  readonly contentType: string;
  /** Well-formed text without lone surrogates. A page without text is the empty string. */
  readonly pages: string[];
  /** Boxes of the lines of each page, null for a page where they are unknown; absent if no page has them. */
  readonly boxes?: readonly (LineBoxes | null)[];
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
  readonly pageImages: PageImageAvailability;
}

/** Information on a document, known after its last page. */
export type DocumentInfo = Omit<ParsedDocument, 'pages' | 'boxes'>;

/** The part of the information that a parser returns; the rest follows from the format. */
export type DocumentDetails = Omit<DocumentInfo, 'kind' | 'contentType' | 'unordered' | 'pageImages'> & {
  /** This document has no page images although its format has them. */
  readonly lacksPageImages?: true;
};

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
  | (DocumentInfo & { readonly pages: Texts; readonly lineBoxes?: EncodedPages })
  | { readonly failure: ParseFailureData };
/** JPEG bytes; null when documents of this kind have no page images. */
export type RenderOutcome = Uint8Array | null | { readonly failure: ParseFailureData };

export function isFailedOutcome(
  outcome: ParseOutcome | RenderOutcome,
): outcome is { readonly failure: ParseFailureData } {
  return outcome !== null && 'failure' in outcome;
}

/** Whether pages have images on this host. `hasOffice`: LibreOffice is available. */
export function hasPageImages(pageImages: PageImageAvailability, hasOffice: boolean): boolean {
  return pageImages === 'always' || (pageImages === 'with-office' && hasOffice);
}
