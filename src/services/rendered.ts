/** Text, or UTF-8 that is kept for many replies. */
export type Piece = string | Uint8Array;

/**
 * A reply of this shape whose JSON exists already, in pieces that follow each other. It becomes one run of bytes only
 * where it is sent: a buffer for each reply would fill the memory outside of the heap so fast that collecting it takes as
 * long as the query.
 */
export class Rendered<Body> {
  readonly byteLength: number;
  readonly #pieces: readonly Piece[];
  /** Only the type of the reply; there is no such value. */
  declare readonly body?: Body;

  /** Nobody changes the pieces afterwards. */
  constructor(pieces: readonly Piece[]) {
    this.#pieces = pieces;
    let bytes = 0;
    for (const piece of pieces) bytes += typeof piece === 'string' ? bytesOf(piece) : piece.byteLength;
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
        at += write(piece, target, at);
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

/** Most pieces of text are short, digits and punctuation: a look at each takes less than a call of the encoder. */
const shortUnitsMax = 32;

function isPlain(text: string): boolean {
  if (text.length > shortUnitsMax) return false;
  for (let i = 0; i < text.length; i += 1) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

function bytesOf(text: string): number {
  return isPlain(text) ? text.length : Buffer.byteLength(text);
}

function write(text: string, target: Buffer, at: number): number {
  if (!isPlain(text)) return target.write(text, at);
  for (let i = 0; i < text.length; i += 1) target[at + i] = text.charCodeAt(i);
  return text.length;
}
