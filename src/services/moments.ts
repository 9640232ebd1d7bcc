import { openSealedText, sealToText } from '../core/sealed-text.ts';
import type { Sealer } from '../core/sealer.ts';

/** Decimal digits of a sequence number: all texts have the same length. */
const sequenceDigits = 16;

/**
 * Moments in the history of a collection as texts for replies and requests. The sequence number of a moment counts the
 * changes of all organizations, so it is encrypted.
 */
export class Moments {
  readonly #sealer: Sealer;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  toText(collectionId: string, sequence: number): string {
    return sealToText(this.#sealer, String(sequence).padStart(sequenceDigits, '0'), contextOf(collectionId));
  }

  /** Returns the sequence number; null for a text that is not a moment of the collection. */
  parse(collectionId: string, text: string): number | null {
    const digits = openSealedText<string>(this.#sealer, text, contextOf(collectionId));
    return digits === null ? null : Number(digits);
  }
}

function contextOf(collectionId: string): string {
  return `moment ${collectionId}`;
}
