import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
/** Where the count of a list starts, too low to ever reach a limit. */
const listCommas = -(2 ** 31);

export interface JsonBounds {
  readonly jsonValuesMax: number;
  /** Objects, lists and strings, names of fields included. */
  readonly jsonNodesMax: number;
}

/**
 * Counts what a JSON text holds while it arrives, so that a small body that would become a huge heap is refused before
 * the rest of it is read and before it is parsed. Strings are skipped at the speed of a byte search. Whether the text is
 * valid JSON is for the parser to say.
 */
export class JsonScanner {
  readonly #bounds: JsonBounds;
  /** Commas seen so far in the object that is open at each depth. */
  readonly #commas = new Int32Array(limits.jsonDepthMax + 1).fill(listCommas);
  #depth = 0;
  #values = 1;
  #nodes = 0;
  #isInString = false;
  /** The next byte follows a backslash of a string. */
  #isEscaped = false;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  /** Memory that the parsed value will take beyond the bytes of the text. */
  get cost(): number {
    const scalars = Math.max(0, this.#values - this.#nodes);
    return this.#nodes * limits.jsonNodeBytes + scalars * limits.jsonNumberBytes;
  }

  /**
   * Errors: `bad_request` when the text is nested too deep, or holds too many values or an object with too many fields.
   * The counts are in variables of the loop, because this loop runs once for each byte of every body.
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
        // Both kinds of brackets, and none of what most texts consist of.
        if (byte === openBrace || byte === openBracket) {
          opened += 1;
          depth += 1;
          if (depth > limits.jsonDepthMax) throw tooDeepError();
          commas[depth] = byte === openBrace ? 0 : listCommas;
        } else if (byte === closeBrace || byte === closeBracket) {
          depth = Math.max(0, depth - 1); // one too many is for the parser to refuse
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

  /** Index behind the quote that ends the string in which `from` lies, or the length when the string goes on. */
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
  return new AppError('bad_request', `The request body holds ${prefix}more than ${limit} ${noun}.`);
}

function tooDeepError(): AppError {
  return new AppError('bad_request', `The request body nests deeper than ${limits.jsonDepthMax} levels.`);
}
