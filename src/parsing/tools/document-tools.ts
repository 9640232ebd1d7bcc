import type { ParseFailureCode } from '../parse-failure.ts';

/** Result of an OCR engine for one image. */
export interface OcrText {
  readonly text: string;
  /** Mean confidence of the engine in its words, 0 to 100; 0 without words. */
  readonly confidence: number;
  /** Absent if the engine reports no positions. */
  readonly words?: OcrWords;
}

/** Positions of recognized words in the image that was read. */
export interface OcrWords {
  /** Size of the image in pixels. */
  readonly width: number;
  readonly height: number;
  /**
   * In the order of the text, numbers per word: start and end (exclusive) in the text, in UTF-16 units; line; left, top,
   * width and height in pixels.
   */
  readonly numbers: Uint32Array;
}

export const numbersPerWord = 7;

/** Work that a parser process cannot do itself, because it may not start programs or write files. */
export type ToolRequest =
  /** Recognize the text of a PNG image. */
  | { readonly kind: 'recognize'; readonly image: Uint8Array; readonly msMax: number }
  /** Convert the current document to PDF, or a spreadsheet to XLSX. */
  | {
      readonly kind: 'convert';
      readonly file: string;
      readonly from: OfficeExtension;
      readonly to: 'pdf' | 'xlsx';
      readonly msMax: number;
    }
  /** Convert the current HEIC image to PNG. */
  | { readonly kind: 'open-heif'; readonly file: string; readonly msMax: number }
  /** Render a page of the current PDF as PNG at `dotsPerInch`. */
  | {
      readonly kind: 'draw';
      readonly file: string;
      readonly page: number;
      readonly dotsPerInch: number;
      readonly msMax: number;
    };

/** File extensions passed to LibreOffice, which selects its import filter by extension. */
export const officeExtensions = ['doc', 'docx', 'odt', 'rtf', 'ppt', 'pptx', 'odp', 'xls', 'ods'] as const;
export type OfficeExtension = (typeof officeExtensions)[number];

export type ToolReply =
  | ({ readonly kind: 'text' } & OcrText)
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  /** A file that exists until the document is done; its bytes are sent to the parser process. */
  | { readonly kind: 'file'; readonly file: string }
  /**
   * No program on this host can do it; `message` is a complete sentence that names the package to install.
   */
  | { readonly kind: 'missing'; readonly message: string }
  | { readonly kind: 'failed'; readonly code: ParseFailureCode; readonly message: string };

/**
 * A tool request as sent by the parser process. The process cannot choose the file or the time limit, but it
 * may request less time.
 */
export type ParserToolRequest<Request extends ToolRequest = ToolRequest> = Request extends {
  readonly kind: 'recognize';
}
  ? Omit<Request, 'msMax'> & { readonly msLeft: number }
  : Request extends unknown
    ? Omit<Request, 'file' | 'msMax'>
    : never;

/** Interface through which a parser uses tools. */
export interface DocumentTools {
  request(toolRequest: ParserToolRequest): Promise<ToolReply>;
  /** Reports the current stage to the user; also restarts the idle timer of the host. */
  reportProgress(progress: ParseProgress): void;
}

/** `waiting`: for a parser, or for its first message. */
export const parseStages = ['waiting', 'reading', 'converting', 'recognising'] as const;
export type ParseStage = (typeof parseStages)[number];

export interface ParseProgress {
  readonly stage: ParseStage;
  /** Number of completed pages. */
  readonly page: number;
  /** Total number of pages; null while unknown. */
  readonly of: number | null;
}

/** Used by parsers that run without tools. */
export const noTools: DocumentTools = {
  request: async () => ({ kind: 'missing', message: 'No external tools are available in this process.' }),
  reportProgress: () => {},
};

export function isParserToolRequest(value: unknown): value is ParserToolRequest {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false;
  const toolRequest = value as Record<string, unknown>;
  switch (toolRequest.kind) {
    case 'recognize':
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

export function isOcrWords(value: unknown): value is OcrWords {
  if (typeof value !== 'object' || value === null) return false;
  const { width, height, numbers } = value as Record<string, unknown>;
  const hasSize = Number.isSafeInteger(width) && Number.isSafeInteger(height);
  return hasSize && numbers instanceof Uint32Array && numbers.length % numbersPerWord === 0;
}
