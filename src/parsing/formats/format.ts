import type { DecodedText } from '../encoding/decode.ts';
import type { ParseLimits } from '../limits.ts';
import type { PageText } from '../parsed-page.ts';
import type { DocumentDetails } from '../process/parse-task.ts';
import type { SourceFile } from '../source-file.ts';
import type { DocumentTools } from '../tools/document-tools.ts';
import type { ZipArchive } from '../zip.ts';
import type { CompoundFile } from './legacy/compound-file.ts';
import type { OfficePackage } from './office/office-package.ts';
import type { OpenDocumentPackage } from './opendocument/open-document.ts';
import type { PageRenderer } from './page-renderers.ts';

export interface ParseContext {
  readonly limits: ParseLimits;
  readonly tools: DocumentTools;
}

/** Yields pages as they are parsed, as texts if their boxes are unknown, then returns the details of the document. */
export type PageStream =
  | AsyncGenerator<string | PageText, DocumentDetails>
  | Generator<string | PageText, DocumentDetails>;

/**
 * Entry of the format registry. `Probe` is the part of a file that detection examines; `Content` is what the
 * parser reads.
 */
interface FormatOf<Container extends string, Probe, Content = Probe> {
  /** Name of the format in replies. */
  readonly kind: string;
  /** Lower-case extensions. They decide the format of a text with `isDecidedByExtension`; `detect` receives `isNamed`. */
  readonly extensions: readonly string[];
  readonly mediaType: string;
  /** Container of the files; detection opens it before it calls `detect`. */
  readonly container: Container;
  /** `isNamed`: the file has one of the extensions. */
  readonly detect: (probe: Probe, isNamed: boolean) => boolean;
  readonly parse: (content: Content, context: ParseContext) => PageStream;
  /** Pages are groups of rows in any order, so text must not be joined across a page end. */
  readonly hasRows?: true;
  /** Absent: pages have no images. */
  readonly pageImages?: PageRenderer;
}

/** A decoded text with the extension of its file. */
export interface TextFile extends DecodedText {
  readonly extension: string | null;
}

interface TextFormat extends FormatOf<'text', TextFile> {
  /** A file with one of the extensions has this format, regardless of its text. */
  readonly isDecidedByExtension?: true;
  /** The extracted text is shorter than the file, so only the extracted text is checked against the limit. */
  readonly isCondensed?: true;
}

export type Format =
  | FormatOf<'none', SourceFile, Uint8Array>
  | FormatOf<'office', OfficePackage>
  | FormatOf<'opendocument', OpenDocumentPackage>
  | FormatOf<'zip', ZipArchive>
  | FormatOf<'compound', CompoundFile>
  /** Text that may declare its charset. */
  | FormatOf<'markup', SourceFile, DecodedText>
  | TextFormat;
