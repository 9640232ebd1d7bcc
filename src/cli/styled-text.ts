import type { Style, StyledText } from './colors.ts';
import { breakWord, displayWidth, toPrintable } from './text-layout.ts';

/** Layout of styled text. A line is a list of spans. */
export type StyledLine = readonly StyledText[];

/** Columns before the text of the first line and of the following ones. */
export interface Indents {
  readonly first: string;
  readonly rest: string;
}

interface StyledWord {
  readonly spans: StyledText[];
  width: number;
}

/**
 * Wraps styled text to lines of at most `columns` columns at spaces; breaks words that are too long. White space is
 * one space, and control characters are removed.
 */
export function wrapStyled(spans: StyledLine, columns: number, indents: Indents): StyledLine[] {
  const lines: StyledText[][] = [];
  let line: StyledText[] = [{ text: indents.first, style: 'plain' }];
  let width = displayWidth(indents.first);
  let isEmpty = true;
  const startLine = () => {
    lines.push(line);
    line = [{ text: indents.rest, style: 'plain' }];
    width = displayWidth(indents.rest);
    isEmpty = true;
  };
  const put = (word: StyledWord) => {
    if (!isEmpty && width + 1 + word.width > columns) startLine();
    if (!isEmpty) line.push({ text: ' ', style: spaceStyle(line.at(-1)?.style, word.spans[0]?.style) });
    line.push(...word.spans);
    width += word.width + (isEmpty ? 0 : 1);
    isEmpty = false;
  };
  const available = Math.max(1, columns - displayWidth(indents.rest));
  for (const word of splitWords(spans)) for (const piece of breakStyledWord(word, available)) put(piece);
  lines.push(line);
  return lines.map(mergeSpans);
}

/** A space inside a styled range has its style, for example between two words of a heading. */
function spaceStyle(before: Style | undefined, after: Style | undefined): Style {
  return before === after && before !== 'match' ? (before ?? 'plain') : 'plain';
}

function splitWords(spans: StyledLine): StyledWord[] {
  const words: StyledWord[] = [];
  let word: StyledWord | null = null;
  for (const { text, style } of spans) {
    for (const part of text.split(/(\s+)/u)) {
      if (part === '') continue;
      if (/^\s/u.test(part)) {
        word = null;
        continue;
      }
      const printable = toPrintable(part);
      if (printable === '') continue;
      if (word === null) {
        word = { spans: [], width: 0 };
        words.push(word);
      }
      word.spans.push({ text: printable, style });
      word.width += displayWidth(printable);
    }
  }
  return words;
}

function breakStyledWord(word: StyledWord, columns: number): StyledWord[] {
  if (word.width <= columns) return [word];
  return word.spans.flatMap(({ text, style }) =>
    breakWord(text, columns).map((piece) => ({
      spans: [{ text: piece, style }],
      width: displayWidth(piece),
    })),
  );
}

/** Joins neighbors of the same style, so that a line has few escape sequences. */
export function mergeSpans(spans: StyledLine): StyledLine {
  const merged: StyledText[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (span.text === '') continue;
    if (last?.style === span.style) merged[merged.length - 1] = { ...last, text: last.text + span.text };
    else merged.push(span);
  }
  return merged;
}
