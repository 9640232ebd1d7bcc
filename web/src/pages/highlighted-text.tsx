import type { ComponentChildren } from 'preact';
import { splitHighlights } from './highlight-parts.ts';

/** A text with the words of the question marked. It is shown as text, whatever it says. */
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
