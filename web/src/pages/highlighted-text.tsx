import type { ComponentChildren } from 'preact';
import { splitHighlights } from './highlight-parts.ts';

/** Renders a text with the matched words highlighted. The text is never interpreted as HTML. */
export function HighlightedText({
  text,
  terms,
}: {
  readonly text: string;
  readonly terms: readonly string[];
}): ComponentChildren {
  return splitHighlights(text, terms).map((part, i) =>
    part.isHighlighted ? <mark key={i}>{part.text}</mark> : part.text,
  );
}
