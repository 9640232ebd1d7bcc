import type { DecodedText } from '../../encoding/decode.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import type { ParseContext, TextFile } from '../format.ts';
import { parsePlainText } from './plain-text.ts';

/** Markdown is kept unchanged. */
export function* parseMarkdown(
  decoded: DecodedText,
  context: ParseContext,
): Generator<string, DocumentDetails> {
  const details = yield* parsePlainText(decoded, context);
  return { ...details, headings: true, title: findMarkdownTitle(decoded.text) };
}

/**
 * Whether a text without an extension has two headings, or one heading and another construct specific to
 * Markdown.
 */
export function isMarkdown({ text, extension }: TextFile): boolean {
  if (extension !== null) return false;
  const sample = text.slice(0, 20_000);
  const headings = sample.match(/^#{1,6} \S/gm)?.length ?? 0;
  const others = /^```|^\s*[-*] \S|\[[^\]\n]+\]\([^)\n]+\)|\*\*[^*\n]+\*\*/m.test(sample);
  return (
    !sample.startsWith('#!') && (headings >= 2 || (headings === 1 && others)) && /^#{1,2} \S/m.test(sample)
  );
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
