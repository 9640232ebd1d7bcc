import { ParseFailure } from './parse-failure.ts';

/** Counts text while it is being built, so that a small file cannot expand into more text than is allowed. */
export class TextBudget {
  private readonly unitsMax: number;
  private used = 0;

  constructor(unitsMax: number) {
    this.unitsMax = unitsMax;
  }

  /**
   * Must be called before `units` UTF-16 code units are kept. Errors: `too_large` when the document exceeds
   * the maximum.
   */
  consume(units: number): void {
    this.used += units;
    if (this.used > this.unitsMax) {
      throw new ParseFailure(
        'too_large',
        `The document exceeds the limit of ${this.unitsMax.toLocaleString('en')} characters of text.`,
      );
    }
  }
}

/** Replaces each lone surrogate with U+FFFD. */
export function toWellFormed(text: string): string {
  return /[\ud800-\udfff]/.test(text) ? text.replace(/\p{Surrogate}/gu, '\ufffd') : text;
}
