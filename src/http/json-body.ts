import { isUtf8 } from 'node:buffer';
import { AppError, invalidField } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
/** Where the count of a list starts. */
const listCommas = -(2 ** 31);

const shortBytesMax = Math.min(limits.jsonDepthMax, limits.jsonValuesMax, limits.jsonMembersMax);

function malformed(msg: string): AppError {
  return invalidField(['body'], msg, 'json_invalid');
}

/**
 * The value of a JSON text; no bytes at all count as `{}`. Errors: `invalid` (422) when it does not parse or is not
 * UTF-8; `bad_request` (400) when it nests deeper than `jsonDepthMax`, holds more than `jsonValuesMax` values or an object
 * of more than `jsonMembersMax` fields, which is found before parsing, so that a small body cannot become a huge heap or
 * keep everybody else waiting.
 */
export function parseJson(bytes: Buffer): unknown {
  const text = withoutMark(bytes);
  if (text.length === 0) return {};
  if (!isUtf8(text)) throw malformed('The request body is not UTF-8.');
  // Every level and every value takes a byte at least, so a short text is within all bounds.
  if (text.length > shortBytesMax) checkStructure(text);
  try {
    return JSON.parse(text.toString('utf8'));
  } catch (error) {
    // The engine's message quotes the body; the position is all that a reply may repeat.
    const position = /position \d+/.exec(error instanceof Error ? error.message : '')?.[0];
    throw malformed(`The request body is not valid JSON${position ? ` (${position})` : ''}.`);
  }
}

/** Without the byte order mark that some editors leave. */
function withoutMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/** One pass over the bytes between strings; strings are skipped at the speed of a byte search. */
function checkStructure(bytes: Buffer): void {
  /** Commas seen so far in the object that is open at each depth; lists start too low to ever count. */
  const commas = new Int32Array(limits.jsonDepthMax + 1).fill(listCommas);
  let depth = 0;
  let values = 1;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === quote) {
      i = endOfString(bytes, i);
    } else if (byte === openBrace || byte === openBracket) {
      depth++;
      values++;
      if (depth > limits.jsonDepthMax) throw tooDeep();
      commas[depth] = byte === openBrace ? 0 : listCommas;
    } else if (byte === closeBrace || byte === closeBracket) {
      depth = Math.max(0, depth - 1); // one too many is for the parser to refuse
    } else if (byte === comma) {
      values++;
      commas[depth]! += 1;
      if (commas[depth]! >= limits.jsonMembersMax) throw tooWide();
    }
  }
  if (values > limits.jsonValuesMax) {
    throw new AppError(
      'bad_request',
      `The request body holds more than ${limits.jsonValuesMax} JSON values.`,
    );
  }
}

function tooDeep(): AppError {
  return new AppError('bad_request', `The request body nests deeper than ${limits.jsonDepthMax} levels.`);
}

function tooWide(): AppError {
  return new AppError(
    'bad_request',
    `The request body holds an object of more than ${limits.jsonMembersMax} fields.`,
  );
}

/** Index of the quote that closes the string opened at `start`, or of the end when none does. */
function endOfString(bytes: Buffer, start: number): number {
  let i = start;
  for (;;) {
    i = bytes.indexOf(quote, i + 1);
    if (i < 0) return bytes.length;
    let slashes = 0;
    while (bytes[i - 1 - slashes] === backslash) slashes++;
    if (slashes % 2 === 0) return i;
  }
}
