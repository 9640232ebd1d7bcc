/** Converts UTF-16 offsets to code point offsets. Offsets must be ascending, so the text is read once. */
export class CodePointCursor {
  readonly #text: string;
  readonly #isBmpOnly: boolean;
  #unit = 0;
  #codePoint = 0;

  constructor(text: string) {
    this.#text = text;
    this.#isBmpOnly = !/[\ud800-\udfff]/.test(text);
  }

  /**
   * Returns the number of code points before UTF-16 offset `unit`, which must not be smaller than in the
   * previous call and must not split a surrogate pair.
   */
  toCodePoint(unit: number): number {
    if (this.#isBmpOnly) return unit;
    for (; this.#unit < unit; this.#unit += 1) {
      const isPair =
        (this.#text.charCodeAt(this.#unit) & 0xfc00) === 0xd800 &&
        (this.#text.charCodeAt(this.#unit + 1) & 0xfc00) === 0xdc00;
      if (isPair) this.#unit += 1;
      this.#codePoint += 1;
    }
    return this.#codePoint;
  }
}
