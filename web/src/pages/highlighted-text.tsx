import type { ComponentChildren } from 'preact';
import type { TextSpan } from '../../../src/core/excerpt.ts';

interface HighlightedTextProps {
  readonly text: string;
  /** Part of the text that is rendered, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /** Ranges of the whole text to mark, in order and without overlaps. */
  readonly marks: readonly TextSpan[];
}

/** Renders a part of a text with marked ranges. The text is never interpreted as HTML. */
export function HighlightedText({ text, start, end, marks }: HighlightedTextProps): ComponentChildren {
  const parts: ComponentChildren[] = [];
  let last = start;
  for (const mark of marks) {
    const [first, after] = [Math.max(last, mark.start), Math.min(end, mark.end)];
    if (first >= after) continue;
    parts.push(text.slice(last, first), <mark key={first}>{text.slice(first, after)}</mark>);
    last = after;
  }
  return [...parts, text.slice(last, end)];
}
