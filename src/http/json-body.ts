import { isUtf8 } from 'node:buffer';
import { invalidFieldError } from '../core/app-error.ts';

function invalidJsonError(msg: string) {
  return invalidFieldError(['body'], msg, 'json_invalid');
}

/**
 * Parses a JSON text; an empty text counts as `{}`. Errors: `invalid` (422) when it does not parse or is not
 * UTF-8. Nesting depth and value count were already checked by a `JsonScanner`.
 */
export function parseJson(bytes: Buffer): unknown {
  const text = stripByteOrderMark(bytes);
  if (text.length === 0) return {};
  if (!isUtf8(text)) throw invalidJsonError('The request body is not UTF-8.');
  try {
    return JSON.parse(text.toString('utf8'));
  } catch (error) {
    // The engine's message quotes the body, so the reply repeats only the position.
    const position = /position \d+/.exec(error instanceof Error ? error.message : '')?.[0];
    throw invalidJsonError(`The request body is not valid JSON${position ? ` (${position})` : ''}.`);
  }
}

/** Removes the byte order mark that some editors write. */
function stripByteOrderMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}
