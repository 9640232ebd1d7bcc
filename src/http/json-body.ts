import { isUtf8 } from 'node:buffer';
import { invalidField } from '../base/app-error.ts';

function malformed(msg: string) {
  return invalidField(['body'], msg, 'json_invalid');
}

/**
 * The value of a JSON text; no bytes at all count as `{}`. Errors: `invalid` (422) when it does not parse or is not
 * UTF-8. A `JsonScanner` has seen the text before and refused what nests too deep or holds too many values.
 */
export function parseJson(bytes: Buffer): unknown {
  const text = withoutMark(bytes);
  if (text.length === 0) return {};
  if (!isUtf8(text)) throw malformed('The request body is not UTF-8.');
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
