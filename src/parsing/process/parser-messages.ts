import { countCodePoints } from '../../core/code-point-counter.ts';
import { isLineBoxes } from '../../core/line-boxes.ts';
import { defaultParseLimits, type ParseLimits } from '../limits.ts';
import { isParseFailureCode, type ParseFailureCode } from '../parse-failure.ts';
import type { ParsedPage } from '../parsed-page.ts';
import {
  isOcrWords,
  isParseProgress,
  isParserToolRequest,
  type OcrText,
  type ParseProgress,
  type ParserToolRequest,
  type ToolReply,
} from '../tools/document-tools.ts';
import type { DocumentInfo } from './parse-task.ts';

/** Request from the host to its parser process; one at a time. */
export type ParserRequest =
  | {
      readonly type: 'parse';
      /** Size of the document in bytes; the bytes follow through the pipe of the process. */
      readonly size: number;
      readonly path: string | null;
      readonly limits: ParseLimits;
    }
  | {
      readonly type: 'render';
      readonly size: number;
      readonly page: number;
      readonly widthMax: number;
      readonly dotsPerInch: number;
      readonly quality: number;
      readonly limits: ParseLimits;
    }
  /** Sent only to the process of the embedded OCR engine. */
  | { readonly type: 'recognize'; readonly image: Uint8Array }
  /** Reply to a `tool-request` message of the current request. */
  | { readonly type: 'tool-reply'; readonly id: number; readonly reply: ToolReplyMessage };

/** Reply of a tool as sent to the process, which may not open files: `size` bytes follow through the pipe. */
export type ToolReplyMessage =
  | Exclude<ToolReply, { readonly kind: 'file' }>
  | { readonly kind: 'file'; readonly size: number };

/** Requests that concern a document. */
export type DocumentRequest = Extract<ParserRequest, { type: 'parse' | 'render' }>;

/**
 * Message from the parser process. Each one restarts the idle timer; `done`, `image` and `fail` end the
 * request.
 */
export type ParserMessage =
  | { readonly type: 'ready' }
  | ({ readonly type: 'page' } & ParsedPage)
  | { readonly type: 'progress'; readonly progress: ParseProgress }
  | { readonly type: 'tool-request'; readonly id: number; readonly request: ParserToolRequest }
  | ({ readonly type: 'recognized'; readonly residentBytes: number } & OcrText)
  | { readonly type: 'done'; readonly info: DocumentInfo; readonly residentBytes: number }
  | { readonly type: 'image'; readonly bytes: Uint8Array | null; readonly residentBytes: number }
  | {
      readonly type: 'fail';
      readonly code: ParseFailureCode;
      readonly message: string;
      /**
       * True: the process is in an undefined state and exits; the document may be retried in a fresh process.
       */
      readonly fatal: boolean;
      readonly residentBytes: number;
    };

/** Validates a message. The process has read untrusted files, so its messages are checked before use. */
export function isParserMessage(value: unknown): value is ParserMessage {
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  const message = value as Record<string, unknown>;
  switch (message.type) {
    case 'ready':
      return true;
    case 'page':
      return (
        typeof message.text === 'string' &&
        (message.boxes === null || areBoxesOf(message.boxes, message.text))
      );
    case 'progress':
      return isParseProgress(message.progress);
    case 'tool-request':
      return typeof message.id === 'number' && isParserToolRequest(message.request);
    case 'recognized':
      return (
        typeof message.residentBytes === 'number' &&
        typeof message.text === 'string' &&
        typeof message.confidence === 'number' &&
        (message.words === undefined || isOcrWords(message.words))
      );
    case 'done':
      return typeof message.residentBytes === 'number' && isDocumentInfo(message.info);
    case 'image':
      return (
        typeof message.residentBytes === 'number' &&
        (message.bytes === null || message.bytes instanceof Uint8Array)
      );
    case 'fail':
      return isParseFailureCode(message.code) && typeof message.message === 'string';
    default:
      return false;
  }
}

function areBoxesOf(boxes: unknown, text: string): boolean {
  return isLineBoxes(boxes, { length: countCodePoints(text), linesMax: defaultParseLimits.pageLinesMax });
}

function isDocumentInfo(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const info = value as Record<string, unknown>;
  const isKind = typeof info.kind === 'string' && /^[a-z\d-]{1,32}$/.test(info.kind);
  return isKind && typeof info.contentType === 'string' && Array.isArray(info.warnings);
}
