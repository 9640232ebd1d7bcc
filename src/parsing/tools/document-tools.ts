import type { ParseFailureCode } from '../parse-failure.ts';

/** What an OCR engine found in an image. */
export interface OcrText {
  readonly text: string;
  /** How much the engine believes in its words, 0 to 100 on average; 0 without words. */
  readonly confidence: number;
}

/** What a parser process cannot do itself: it may start no program and write no file. */
export type ToolRequest =
  /** Text of an image in PNG. */
  | { readonly kind: 'recognise'; readonly image: Uint8Array; readonly msMax: number }
  /** The document under work as PDF, or a spreadsheet as XLSX. */
  | {
      readonly kind: 'convert';
      readonly file: string;
      readonly from: OfficeExtension;
      readonly to: 'pdf' | 'xlsx';
      readonly msMax: number;
    }
  /** The HEIC image under work as PNG. */
  | { readonly kind: 'open-heif'; readonly file: string; readonly msMax: number }
  /** A page of the PDF under work as PNG, `dotsPerInch` fine. */
  | {
      readonly kind: 'draw';
      readonly file: string;
      readonly page: number;
      readonly dotsPerInch: number;
      readonly msMax: number;
    };

/** Extensions under which LibreOffice is given a file, so that it takes the right filter. */
export const officeExtensions = ['doc', 'docx', 'odt', 'rtf', 'ppt', 'pptx', 'odp', 'xls', 'ods'] as const;
export type OfficeExtension = (typeof officeExtensions)[number];

export type ToolReply =
  | ({ readonly kind: 'text' } & OcrText)
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  /** A file that exists until the document is done; the parser process is sent its bytes. */
  | { readonly kind: 'file'; readonly file: string }
  /** Nothing on this host does it; `message` is a whole sentence that names what to install. */
  | { readonly kind: 'missing'; readonly message: string }
  | { readonly kind: 'failed'; readonly code: ParseFailureCode; readonly message: string };

/**
 * A request as the parser process makes it: which file it is about and how long it may take is not for that process to say,
 * but it may ask for less time.
 */
export type ParserToolRequest<Request extends ToolRequest = ToolRequest> = Request extends {
  readonly kind: 'recognise';
}
  ? Omit<Request, 'msMax'> & { readonly msLeft: number }
  : Request extends unknown
    ? Omit<Request, 'file' | 'msMax'>
    : never;

/** How a parser asks. */
export interface DocumentTools {
  request(toolRequest: ParserToolRequest): Promise<ToolReply>;
  /** Says what is being done: a sign of life that the person who waits gets to see. */
  reportProgress(progress: ParseProgress): void;
}

/** `waiting`: for a parser, or for its first word. */
export const parseStages = ['waiting', 'reading', 'converting', 'recognising'] as const;
export type ParseStage = (typeof parseStages)[number];

export interface ParseProgress {
  readonly stage: ParseStage;
  /** Pages that are done. */
  readonly page: number;
  /** How many there are; null while that is not known. */
  readonly of: number | null;
}

/** For parsers that run where there are no tools. */
export const noTools: DocumentTools = {
  request: async () => ({ kind: 'missing', message: 'This process has no tools.' }),
  reportProgress: () => {},
};

export function isParserToolRequest(value: unknown): value is ParserToolRequest {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false;
  const toolRequest = value as Record<string, unknown>;
  switch (toolRequest.kind) {
    case 'recognise':
      return toolRequest.image instanceof Uint8Array && Number.isFinite(toolRequest.msLeft);
    case 'convert':
      return (
        officeExtensions.some((source) => source === toolRequest.from) &&
        (toolRequest.to === 'pdf' || toolRequest.to === 'xlsx')
      );
    case 'open-heif':
      return true;
    case 'draw':
      return Number.isSafeInteger(toolRequest.page) && Number.isFinite(toolRequest.dotsPerInch);
    default:
      return false;
  }
}

export function isParseProgress(value: unknown): value is ParseProgress {
  if (typeof value !== 'object' || value === null) return false;
  const { stage, page, of } = value as Record<string, unknown>;
  const known = parseStages.some((one) => one === stage);
  return known && Number.isSafeInteger(page) && (of === null || Number.isSafeInteger(of));
}
