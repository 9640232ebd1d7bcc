/** Integers below 2^31 as variable-length bytes: 7 bits per byte, lowest first. */

export function pushUnsigned(bytes: number[], value: number): void {
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
}

/** The lowest bit is the sign. */
export function pushSigned(bytes: number[], value: number): void {
  pushUnsigned(bytes, value < 0 ? -2 * value - 1 : 2 * value);
}

/** Reads integers in the order in which they were pushed. */
export class IntegerReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  readUnsigned(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  readSigned(): number {
    const value = this.readUnsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}
