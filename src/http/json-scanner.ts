import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
/** Initial comma count of a list, too low to ever reach the limit of an object. */
const listCommas = -(2 ** 31);

export interface JsonBounds {
  readonly jsonValuesMax: number;
  /** Maximum number of objects, lists and strings, including field names. */
  readonly jsonNodesMax: number;
}

/**
 * Counts the contents of a JSON text while it arrives, so that a small body that would expand to a huge heap
 * is rejected before the rest is read or parsed. Strings are skipped at the speed of a byte search. Validity
 * is left to the parser.
 */
export class JsonScanner {
  readonly #bounds: JsonBounds;
  /** Commas seen so far in the object that is open at each depth. */
  readonly #commas = new Int32Array(limits.jsonDepthMax + 1).fill(listCommas);
  #depth = 0;
  #values = 1;
  #nodes = 0;
  #isInString = false;
  /** Whether the next byte follows a backslash in a string. */
  #isEscaped = false;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  /** Estimated bytes of memory of the parsed value, beyond the bytes of the text. */
  get cost(): number {
    const scalars = Math.max(0, this.#values - this.#nodes);
    return this.#nodes * limits.jsonNodeBytes + scalars * limits.jsonNumberBytes;
  }

  /**
   * Errors: `bad_request` when the text is nested too deeply, or has too many values or an object with too
   * many fields. The counters are local variables because the loop runs once per byte of every body.
   */
  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const commas = this.#commas;
    const { length } = bytes;
    let depth = this.#depth;
    let opened = 0;
    let separated = 0;
    for (let i = this.#isInString ? this.#endOfString(bytes, 0) : 0; i < length; i += 1) {
      const byte = bytes[i]!;
      if (byte === quote) {
        this.#nodes += 1;
        i = this.#endOfString(bytes, i + 1) - 1;
      } else if (byte === comma) {
        separated += 1;
        commas[depth]! += 1;
        if (commas[depth]! >= limits.jsonMembersMax)
          throw tooManyError(limits.jsonMembersMax, 'fields', 'an object of ');
      } else if (byte >= openBracket) {
        // Matches all brackets and braces, but few other bytes of a typical text.
        if (byte === openBrace || byte === openBracket) {
          opened += 1;
          depth += 1;
          if (depth > limits.jsonDepthMax) throw tooDeepError();
          commas[depth] = byte === openBrace ? 0 : listCommas;
        } else if (byte === closeBrace || byte === closeBracket) {
          depth = Math.max(0, depth - 1); // the parser rejects a surplus bracket
        }
      }
    }
    this.#depth = depth;
    this.#values += opened + separated;
    this.#nodes += opened;
    const { jsonValuesMax, jsonNodesMax } = this.#bounds;
    if (this.#values > jsonValuesMax) throw tooManyError(jsonValuesMax, 'JSON values');
    if (this.#nodes > jsonNodesMax) throw tooManyError(jsonNodesMax, 'objects, lists and strings');
  }

  /**
   * Returns the index after the closing quote of the string that contains `from`, or the length if it
   * continues.
   */
  #endOfString(bytes: Buffer, from: number): number {
    this.#isInString = true;
    let start = from;
    if (this.#isEscaped && start < bytes.length) {
      this.#isEscaped = false;
      start += 1;
    }
    for (let i = start; ; ) {
      const end = bytes.indexOf(quote, i);
      const stop = end < 0 ? bytes.length : end;
      let slashes = 0;
      while (stop - 1 - slashes >= start && bytes[stop - 1 - slashes] === backslash) slashes += 1;
      if (end < 0) {
        this.#isEscaped = slashes % 2 === 1;
        return bytes.length;
      }
      if (slashes % 2 === 0) {
        this.#isInString = false;
        return end + 1;
      }
      i = end + 1;
    }
  }
}

function tooManyError(limit: number, noun: string, prefix = ''): AppError {
  return new AppError('bad_request', `The request body contains ${prefix}more than ${limit} ${noun}.`);
}

function tooDeepError(): AppError {
  return new AppError(
    'bad_request',
    `The request body is nested more than ${limits.jsonDepthMax} levels deep.`,
  );
}
