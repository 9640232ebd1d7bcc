import { limits } from '../core/limits.ts';

const bytesPerToken = 4;

/** Bounds the text of one reply. A token is counted as 4 bytes of UTF-8, which is about right for English. */
export class TokenBudget {
  #bytesLeft: number;

  constructor(tokens: number | undefined) {
    this.#bytesLeft = (tokens ?? limits.mcpReplyTokensDefault) * bytesPerToken;
  }

  /** Maximum number of characters that fit. */
  get charactersMax(): number {
    return this.#bytesLeft;
  }

  /** Spends the budget for a text. Returns false, and spends nothing, if the text does not fit. */
  spend(text: string): boolean {
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#bytesLeft) return false;
    this.#bytesLeft -= bytes;
    return true;
  }

  /** Spends the budget for the start of a text that fits, and returns that start. */
  spendStart(text: string): string {
    if (this.spend(text)) return text;
    const bytes = Buffer.from(text);
    let end = this.#bytesLeft;
    // Keep the bytes of a character together: continuation bytes begin with the bits 10.
    while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end -= 1;
    this.#bytesLeft = 0;
    return bytes.subarray(0, end).toString();
  }
}
