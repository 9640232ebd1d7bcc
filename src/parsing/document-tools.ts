import type { ParseFailureCode } from './parse-failure.ts';

/** What an OCR engine found in an image. */
export interface RecognisedText {
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
      readonly from: OfficeSource;
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
export const officeSources = ['doc', 'docx', 'odt', 'rtf', 'ppt', 'pptx', 'odp', 'xls', 'ods'] as const;
export type OfficeSource = (typeof officeSources)[number];

export type ToolReply =
  | ({ readonly kind: 'text' } & RecognisedText)
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
export type ToolNeed<Request extends ToolRequest = ToolRequest> = Request extends {
  readonly kind: 'recognise';
}
  ? Omit<Request, 'msMax'> & { readonly msLeft: number }
  : Request extends unknown
    ? Omit<Request, 'file' | 'msMax'>
    : never;

/** How a parser asks. */
export interface DocumentTools {
  ask(need: ToolNeed): Promise<ToolReply>;
  /** Says what is being done: a sign of life that the person who waits gets to see. */
  tell(progress: ParseProgress): void;
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
  ask: async () => ({ kind: 'missing', message: 'This process has no tools.' }),
  tell: () => {},
};

export function isToolNeed(value: unknown): value is ToolNeed {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false;
  const need = value as Record<string, unknown>;
  switch (need.kind) {
    case 'recognise':
      return need.image instanceof Uint8Array && Number.isFinite(need.msLeft);
    case 'convert':
      return (
        officeSources.some((source) => source === need.from) && (need.to === 'pdf' || need.to === 'xlsx')
      );
    case 'open-heif':
      return true;
    case 'draw':
      return Number.isSafeInteger(need.page) && Number.isFinite(need.dotsPerInch);
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
