/**
 * A reply of this shape whose JSON exists already, in pieces that follow each other: text, and UTF-8 that is kept
 * for many replies. It becomes one run of bytes only where it is sent: a buffer for each reply would fill the memory
 * outside of the heap so fast that collecting it takes as long as the query.
 */
export class Rendered<Body> {
  readonly byteLength: number;
  readonly #pieces: readonly (string | Uint8Array)[];
  /** Only the type of the reply; there is no such value. */
  declare readonly body?: Body;

  /** Nobody changes the pieces afterwards. */
  constructor(pieces: readonly (string | Uint8Array)[]) {
    this.#pieces = pieces;
    let bytes = 0;
    for (const piece of pieces)
      bytes += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.byteLength;
    this.byteLength = bytes;
  }

  static of<Body>(body: Body): Rendered<Body> {
    return new Rendered([JSON.stringify(body)]);
  }

  /** Writes its bytes to the start of `target`, which has room for them. */
  copyTo(target: Buffer): void {
    let at = 0;
    for (const piece of this.#pieces) {
      if (typeof piece === 'string') {
        at += target.write(piece, at);
      } else {
        target.set(piece, at);
        at += piece.byteLength;
      }
    }
  }

  /** A buffer of its own. */
  bytes(): Buffer {
    const bytes = Buffer.allocUnsafeSlow(this.byteLength);
    this.copyTo(bytes);
    return bytes;
  }

  /** The reply as whoever receives it reads it. */
  parse(): Body {
    return JSON.parse(this.bytes().toString()) as Body;
  }
}
