import type { ComponentChildren } from 'preact';
import { marked } from './marked.ts';

/** A text with the words of the question marked. It is shown as text, whatever it says. */
export function Highlighted({
  text,
  terms,
}: {
  readonly text: string;
  readonly terms: readonly string[];
}): ComponentChildren {
  return marked(text, terms).map((part, i) => (part.isMarked ? <mark key={i}>{part.text}</mark> : part.text));
}
