import type { ComponentChildren } from 'preact';
import { splitHighlights } from '../../../src/core/excerpt.ts';

/** Renders a text with the matched words highlighted. The text is never interpreted as HTML. */
export function HighlightedText({
  text,
  words,
}: {
  readonly text: string;
  readonly words: readonly string[];
}): ComponentChildren {
  return splitHighlights(text, words).map((part, i) =>
    part.isHighlighted ? <mark key={i}>{part.text}</mark> : part.text,
  );
}
