/**
 * Text with the ranges of its printed lines, which follow every change of the text: boxes of lines must refer to exactly
 * the text that is stored.
 */
export interface LineText {
  readonly text: string;
  /** Start and end of each line, or part of a line, in turn, ascending, in UTF-16 units. */
  readonly edges: readonly number[];
}

/** Replacement of the text [start, end). */
interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly inserted: string;
}

/** Applies edits, which are ascending and do not overlap. A range that loses all its text becomes empty. */
export function editLines({ text, edges }: LineText, edits: Iterable<TextEdit>): LineText {
  const moved: number[] = [];
  let [result, from] = ['', 0];
  for (const { start, end, inserted } of edits) {
    const shift = result.length - from;
    for (let edge = edges[moved.length]; edge !== undefined && edge < end; edge = edges[moved.length])
      moved.push(edge <= start ? edge + shift : start + shift + Math.min(edge - start, inserted.length));
    result += text.slice(from, start) + inserted;
    from = end;
  }
  const shift = result.length - from;
  for (const edge of edges.slice(moved.length)) moved.push(edge + shift);
  return { text: result + text.slice(from), edges: moved };
}

/** Same as `text.replaceAll(pattern, replacement)`. The pattern is global and matches no empty text. */
export function replaceInLines(
  lineText: LineText,
  pattern: RegExp,
  replacement: string | ((match: string) => string),
): LineText {
  const edits: TextEdit[] = [];
  for (const { 0: match, index } of lineText.text.matchAll(pattern)) {
    const inserted = typeof replacement === 'string' ? replacement : replacement(match);
    edits.push({ start: index, end: index + match.length, inserted });
  }
  return edits.length === 0 ? lineText : editLines(lineText, edits);
}

/** Same as `text.trim()`. */
export function trimLines({ text, edges }: LineText): LineText {
  const trimmed = text.trim();
  if (trimmed.length === text.length) return { text, edges };
  const first = text.length - text.trimStart().length;
  return {
    text: trimmed,
    edges: edges.map((edge) => Math.min(trimmed.length, Math.max(0, edge - first))),
  };
}

function wholeLine({ length }: string) {
  return [{ start: 0, end: length }];
}

/** Builds a text from lines. */
export class LineTextBuilder implements LineText {
  text = '';
  readonly edges: number[] = [];

  /** Appends text that belongs to no line. */
  add(text: string): void {
    this.text += text;
  }

  addLine(
    line: string,
    parts: readonly { readonly start: number; readonly end: number }[] = wholeLine(line),
  ): void {
    for (const { start, end } of parts) this.edges.push(this.text.length + start, this.text.length + end);
    this.text += line;
  }

  addLines({ text, edges }: LineText): void {
    for (const edge of edges) this.edges.push(this.text.length + edge);
    this.text += text;
  }

  /** Removes the last unit, such as a hyphen at a line end. */
  removeLastUnit(): void {
    this.text = this.text.slice(0, -1);
    for (let i = this.edges.length - 1; i >= 0 && this.edges[i]! > this.text.length; i--)
      this.edges[i] = this.text.length;
  }
}
