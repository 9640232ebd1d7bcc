import { ParseFailure } from './parse-failure.ts';

/** Counts text while it is being built, so that a small file can never grow into more text than is allowed. */
export class TextBudget {
  private readonly unitsMax: number;
  private used = 0;

  constructor(unitsMax: number) {
    this.unitsMax = unitsMax;
  }

  /** Call before keeping `units` UTF-16 code units; throws `too_large` when the document would hold too much. */
  consume(units: number): void {
    this.used += units;
    if (this.used > this.unitsMax) {
      throw new ParseFailure(
        'too_large',
        `The document holds more than ${this.unitsMax.toLocaleString('en')} characters of text, the most that is read.`,
      );
    }
  }
}

/** Text without lone surrogates: each becomes U+FFFD. */
export function toWellFormed(text: string): string {
  return /[\ud800-\udfff]/.test(text) ? text.replace(/\p{Surrogate}/gu, '\ufffd') : text;
}
