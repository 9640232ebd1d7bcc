import { computeControlShare } from '../../encoding/charset.ts';
import type { DecodedText } from '../../encoding/decode.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import type { ParseContext } from '../format.ts';

/** Maximum share of control characters; above it, the file counts as binary. */
export const controlShareMax = 0.1;

/** Splits a text into pages at form feeds; everything else is unchanged. */
export function* parsePlainText(
  decoded: DecodedText,
  { limits }: ParseContext,
): Generator<string, DocumentDetails> {
  const { text } = decoded;
  if (computeControlShare(text) > controlShareMax)
    throw new ParseFailure('unsupported', 'The file is binary, not text.');
  new TextBudget(limits.textUnitsMax).consume(text.length);
  const pages = text.split('\f');
  if (pages.length > 1 && pages.at(-1)?.trim() === '') pages.pop();
  yield* pages;
  return {
    headings: false,
    title: null,
    language: null,
    warnings: decoded.warning === null ? [] : [decoded.warning],
  };
}

/** Returns the media type with the charset. Bytes are served as uploaded, so a client needs their charset. */
export function toTextContentType(type: string, decoded: DecodedText): string {
  return decoded.charset === 'utf-8' ? type : `${type}; charset=${decoded.charset}`;
}
