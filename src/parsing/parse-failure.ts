import { documentErrorCodes } from '../schemas/document-errors.ts';

/** Reason for a failed document. Only `crash`, `timeout` and `memory` may succeed on retry. */
export type ParseFailureCode = (typeof documentErrorCodes)[number];

/** A failure as plain data, sent between processes and threads. */
export interface ParseFailureData {
  readonly code: ParseFailureCode;
  /** Complete sentence for the user who uploaded the file. */
  readonly message: string;
}

/** A document that cannot be parsed; `message` is a complete sentence for the user who uploaded it. */
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
