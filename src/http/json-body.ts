import { isUtf8 } from 'node:buffer';
import { invalidFieldError } from '../core/app-error.ts';

function invalidJsonError(msg: string) {
  return invalidFieldError(['body'], msg, 'json_invalid');
}

/**
 * The value of a JSON text; no bytes at all count as `{}`. Errors: `invalid` (422) when it does not parse or is not
 * UTF-8. A `JsonScanner` has seen the text before and refused what nests too deep or holds too many values.
 */
export function parseJson(bytes: Buffer): unknown {
  const text = stripByteOrderMark(bytes);
  if (text.length === 0) return {};
  if (!isUtf8(text)) throw invalidJsonError('The request body is not UTF-8.');
  try {
    return JSON.parse(text.toString('utf8'));
  } catch (error) {
    // The engine's message quotes the body; the position is all that a reply may repeat.
    const position = /position \d+/.exec(error instanceof Error ? error.message : '')?.[0];
    throw invalidJsonError(`The request body is not valid JSON${position ? ` (${position})` : ''}.`);
  }
}

/** Without the byte order mark that some editors leave. */
function stripByteOrderMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}
