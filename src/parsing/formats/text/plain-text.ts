import { computeControlShare } from '../../encoding/charset.ts';
import type { DecodedText } from '../../encoding/decode.ts';
import type { ParseLimits } from '../../limits.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { DocumentInfo, DocumentKind } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';

/** Kinds whose text is kept verbatim. */
export type PlainKind = Extract<DocumentKind, 'text' | 'markdown' | 'code' | 'json' | 'xml'>;

const contentTypes: Readonly<Record<PlainKind, string>> = {
  text: 'text/plain',
  markdown: 'text/markdown',
  code: 'text/plain',
  json: 'application/json',
  xml: 'application/xml',
};

/** Maximum share of control characters; above it, the file counts as binary. */
export const controlShareMax = 0.1;

/** Splits a text into pages at form feeds; everything else is unchanged. */
export function* parsePlainText(
  decoded: DecodedText,
  kind: PlainKind,
  limits: ParseLimits,
): Generator<string, DocumentInfo> {
  const { text } = decoded;
  if (computeControlShare(text) > controlShareMax)
    throw new ParseFailure('unsupported', 'The file is binary, not text.');
  new TextBudget(limits.textUnitsMax).consume(text.length);
  const pages = text.split('\f');
  if (pages.length > 1 && pages.at(-1)?.trim() === '') pages.pop();
  yield* pages;
  return {
    kind,
    contentType: toTextContentType(contentTypes[kind], decoded),
    unordered: false,
    headings: kind === 'markdown',
    title: kind === 'markdown' ? findMarkdownTitle(text) : null,
    language: null,
    warnings: decoded.warning === null ? [] : [decoded.warning],
  };
}

/** Returns the media type with the charset. Bytes are served as uploaded, so a client needs their charset. */
export function toTextContentType(type: string, decoded: DecodedText): string {
  return decoded.charset === 'utf-8' ? type : `${type}; charset=${decoded.charset}`;
}

/** Returns `title:` of a YAML front matter, else the first heading. */
export function findMarkdownTitle(text: string): string | null {
  const head = text.slice(0, 20_000);
  const front = /^---\r?\n([\s\S]*?)\r?\n---\r?\n/.exec(head);
  const titleField = front === null ? null : /^title:[ \t]*(["']?)(.+?)\1[ \t]*$/m.exec(front[1]!);
  if (titleField !== null) return titleField[2]!;
  const body = front === null ? head : head.slice(front[0].length);
  const heading = /^#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$/m.exec(removeCodeFences(body));
  return heading?.[1] ?? /^(\S[^\n]*?)[ \t]*\r?\n=+[ \t]*$/m.exec(body)?.[1] ?? null;
}

function removeCodeFences(text: string): string {
  return text.replace(/^(```|~~~)[\s\S]*?^\1/gm, '');
}
