/** Turns UTF-16 offsets into code point offsets. Asked in ascending order, it walks the text once. */
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
   * Code points before UTF-16 offset `unit`, which is not smaller than at the last call and splits no pair.
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
