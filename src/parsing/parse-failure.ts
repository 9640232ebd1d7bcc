import { documentErrorCodes } from '../schemas/document-errors.ts';

/** Why a document has no text. Only `crash`, `timeout` and `memory` can go away by trying again. */
export type ParseFailureCode = (typeof documentErrorCodes)[number];

/** A failure as plain data: what crosses processes and threads. */
export interface ParseFailureData {
  readonly code: ParseFailureCode;
  /** A whole sentence for the person who sent the file. */
  readonly message: string;
}

/** The document cannot be read; `message` is a whole sentence for the person who sent it. */
export class ParseFailure extends Error {
  override readonly name = 'ParseFailure';
  readonly code: ParseFailureCode;

  constructor(code: ParseFailureCode, message: string) {
    super(message);
    this.code = code;
  }

  toData(): ParseFailureData {
    return { code: this.code, message: this.message };
  }
}

export function isParseFailureCode(value: unknown): value is ParseFailureCode {
  return documentErrorCodes.some((code) => code === value);
}
