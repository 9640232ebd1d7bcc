import type { YieldToEventLoop } from '../base/event-loop-scheduler.ts';

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

  /** Its bytes in runs of at most `bytesMax`, each a buffer of its own. */
  *runs(bytesMax: number): Generator<Uint8Array> {
    let run = Buffer.allocUnsafeSlow(Math.min(bytesMax, this.byteLength));
    let [filled, left] = [0, this.byteLength];
    for (const piece of this.#pieces) {
      const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
      for (let at = 0; at < bytes.byteLength; ) {
        const part = bytes.subarray(at, at + run.byteLength - filled);
        run.set(part, filled);
        at += part.byteLength;
        filled += part.byteLength;
        if (filled < run.byteLength) continue;
        yield run;
        left -= filled;
        filled = 0;
        run = Buffer.allocUnsafeSlow(Math.min(bytesMax, left));
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

/** From this length on a text is encoded where it is made, so that its bytes are neither counted nor copied at the end. */
const encodedUnitsMin = 4_096;

/** A piece of a reply that may be long. */
export function encoded(text: string): Piece {
  return text.length < encodedUnitsMin ? text : Buffer.from(text);
}

/** A reply of one list under `field`, written item by item. */
export async function renderList<Body>(
  field: string,
  items: readonly unknown[],
  yieldToEventLoop: YieldToEventLoop,
): Promise<Rendered<Body>> {
  const pieces: Piece[] = [`{${JSON.stringify(field)}:[`];
  for (const [i, item] of items.entries()) {
    const turn = yieldToEventLoop();
    if (turn !== null) await turn;
    pieces.push(encoded(`${i === 0 ? '' : ','}${JSON.stringify(item)}`));
  }
  pieces.push(']}');
  return new Rendered(pieces);
}

/** Code units of a long text that are written as JSON at one time: well below a millisecond. */
const textUnitsMax = 65_536;

/** A reply of one object under `name` whose `field` may be a long text or its parts, which is written in slices. */
export async function renderWithText<Body>(
  { name, field }: { readonly name: string; readonly field: string },
  object: object,
  yieldToEventLoop: YieldToEventLoop,
): Promise<Rendered<Body>> {
  const pieces: Piece[] = [];
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    pieces.push(`${pieces.length === 0 ? '' : ','}${JSON.stringify(key)}:`);
    if (key === field && value !== null)
      await addText(pieces, typeof value === 'string' ? [value] : value, yieldToEventLoop);
    else pieces.push(JSON.stringify(value));
  }
  return new Rendered([`{${JSON.stringify(name)}:{`, ...pieces, '}}']);
}

/** A reply of texts under `pages`, which are written in slices, and of other fields. */
export async function renderPages<
  Body extends { readonly pages: readonly string[]; readonly warnings: unknown },
>({ pages, ...rest }: Body, yieldToEventLoop: YieldToEventLoop): Promise<Rendered<Body>> {
  const pieces: Piece[] = ['{"pages":['];
  for (const [i, page] of pages.entries()) {
    if (i > 0) pieces.push(',');
    await addText(pieces, [page], yieldToEventLoop);
  }
  pieces.push(`],${JSON.stringify(rest).slice(1)}`);
  return new Rendered(pieces);
}

/** A text as JSON, from its parts. */
export async function addText(
  pieces: Piece[],
  parts: Iterable<string>,
  yieldToEventLoop: YieldToEventLoop,
): Promise<void> {
  pieces.push('"');
  for (const part of parts) await addPart(pieces, part, yieldToEventLoop);
  pieces.push('"');
}

async function addPart(pieces: Piece[], text: string, yieldToEventLoop: YieldToEventLoop): Promise<void> {
  for (let start = 0; start < text.length; ) {
    const turn = yieldToEventLoop();
    if (turn !== null) await turn;
    let end = Math.min(text.length, start + textUnitsMax);
    // The halves of a pair stay together, or they would be escaped.
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
    pieces.push(encoded(JSON.stringify(text.slice(start, end)).slice(1, -1)));
    start = end;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
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
