import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';

/** Text, or UTF-8 that is cached for many replies. */
export type JsonChunk = string | Uint8Array;

/**
 * Reply whose JSON is already serialized, in consecutive chunks. The chunks are joined only when they are
 * sent: one buffer per reply would fill off-heap memory so fast that garbage collection takes as long as the
 * query.
 */
export class RenderedJson<Body> {
  readonly byteLength: number;
  readonly #chunks: readonly JsonChunk[];
  /** Type of the reply only; the property is never set. */
  declare readonly body?: Body;

  /** The chunks must not be modified afterwards. */
  constructor(chunks: readonly JsonChunk[]) {
    this.#chunks = chunks;
    let bytes = 0;
    for (const chunk of chunks) bytes += typeof chunk === 'string' ? byteLengthOf(chunk) : chunk.byteLength;
    this.byteLength = bytes;
  }

  static of<Body>(body: Body): RenderedJson<Body> {
    return new RenderedJson([JSON.stringify(body)]);
  }

  /** Writes the JSON to the start of `target`, which must hold `byteLength` bytes. */
  copyTo(target: Buffer): void {
    let at = 0;
    for (const chunk of this.#chunks) {
      if (typeof chunk === 'string') {
        at += writeText(chunk, target, at);
      } else {
        target.set(chunk, at);
        at += chunk.byteLength;
      }
    }
  }

  /** Yields the JSON in separate buffers of at most `bytesMax` bytes. */
  *byteChunks(bytesMax: number): Generator<Uint8Array> {
    let buffer = Buffer.allocUnsafeSlow(Math.min(bytesMax, this.byteLength));
    let [filled, remaining] = [0, this.byteLength];
    for (const chunk of this.#chunks) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      for (let at = 0; at < bytes.byteLength; ) {
        const part = bytes.subarray(at, at + buffer.byteLength - filled);
        buffer.set(part, filled);
        at += part.byteLength;
        filled += part.byteLength;
        if (filled < buffer.byteLength) continue;
        yield buffer;
        remaining -= filled;
        filled = 0;
        buffer = Buffer.allocUnsafeSlow(Math.min(bytesMax, remaining));
      }
    }
  }

  /** Returns the JSON in a buffer of its own. */
  toBytes(): Buffer {
    const bytes = Buffer.allocUnsafeSlow(this.byteLength);
    this.copyTo(bytes);
    return bytes;
  }

  /** Returns the reply as its receiver parses it. */
  parse(): Body {
    return JSON.parse(this.toBytes().toString()) as Body;
  }
}

/**
 * Texts of at least this length are encoded when created, so that their bytes are not counted and copied at
 * the end.
 */
const encodedUnitsMin = 4_096;

/** Returns a chunk of a reply, encoded if it is long. */
export function encodeChunk(text: string): JsonChunk {
  return text.length < encodedUnitsMin ? text : Buffer.from(text);
}

/** Serializes a reply with one list under `field`, item by item. */
export async function renderList<Body>(
  field: string,
  items: readonly unknown[],
  yieldToEventLoop: YieldToEventLoop,
): Promise<RenderedJson<Body>> {
  const chunks: JsonChunk[] = [`{${JSON.stringify(field)}:[`];
  for (const [i, item] of items.entries()) {
    const pause = yieldToEventLoop();
    if (pause !== null) await pause;
    chunks.push(encodeChunk(`${i === 0 ? '' : ','}${JSON.stringify(item)}`));
  }
  chunks.push(']}');
  return new RenderedJson(chunks);
}

/** Code units of a long text serialized at a time: well below a millisecond. */
const textUnitsMax = 65_536;

/**
 * Serializes a reply with one object under `name`, whose `field` may be a long text or its parts, in slices.
 */
export async function renderWithText<Body>(
  { name, field }: { readonly name: string; readonly field: string },
  object: object,
  yieldToEventLoop: YieldToEventLoop,
): Promise<RenderedJson<Body>> {
  const chunks: JsonChunk[] = [];
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    chunks.push(`${chunks.length === 0 ? '' : ','}${JSON.stringify(key)}:`);
    if (key === field && value !== null)
      await appendText(chunks, typeof value === 'string' ? [value] : value, yieldToEventLoop);
    else chunks.push(JSON.stringify(value));
  }
  return new RenderedJson([`{${JSON.stringify(name)}:{`, ...chunks, '}}']);
}

/** Serializes a reply with texts under `pages`, in slices, and other fields. */
export async function renderPages<
  Body extends { readonly pages: readonly string[]; readonly warnings: unknown },
>({ pages, ...rest }: Body, yieldToEventLoop: YieldToEventLoop): Promise<RenderedJson<Body>> {
  const pieces: JsonChunk[] = ['{"pages":['];
  for (const [i, page] of pages.entries()) {
    if (i > 0) pieces.push(',');
    await appendText(pieces, [page], yieldToEventLoop);
  }
  pieces.push(`],${JSON.stringify(rest).slice(1)}`);
  return new RenderedJson(pieces);
}

/** Appends a text as a JSON string, from its parts. */
export async function appendText(
  chunks: JsonChunk[],
  parts: Iterable<string>,
  yieldToEventLoop: YieldToEventLoop,
): Promise<void> {
  chunks.push('"');
  for (const part of parts) await addPart(chunks, part, yieldToEventLoop);
  chunks.push('"');
}

async function addPart(pieces: JsonChunk[], text: string, yieldToEventLoop: YieldToEventLoop): Promise<void> {
  for (let start = 0; start < text.length; ) {
    const pause = yieldToEventLoop();
    if (pause !== null) await pause;
    let end = Math.min(text.length, start + textUnitsMax);
    // Keep surrogate pairs together, or each half would be escaped.
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
    pieces.push(encodeChunk(JSON.stringify(text.slice(start, end)).slice(1, -1)));
    start = end;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** Most chunks are short digits or punctuation: scanning them is faster than a call of the encoder. */
const shortUnitsMax = 32;

function isShortAscii(text: string): boolean {
  if (text.length > shortUnitsMax) return false;
  for (let i = 0; i < text.length; i += 1) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

function byteLengthOf(text: string): number {
  return isShortAscii(text) ? text.length : Buffer.byteLength(text);
}

function writeText(text: string, target: Buffer, at: number): number {
  if (!isShortAscii(text)) return target.write(text, at);
  for (let i = 0; i < text.length; i += 1) target[at + i] = text.charCodeAt(i);
  return text.length;
}
