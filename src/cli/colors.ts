/** Styles of terminal output. The escape sequences are few, so that no library is used. */

export type Style = 'plain' | 'bold' | 'dim' | 'code' | 'match';

/** Part of a line with one style. */
export interface StyledText {
  readonly text: string;
  readonly style: Style;
}

/** Sequences before and after a span. All colors are readable on light and dark backgrounds. */
const sequences: Readonly<Record<Style, readonly [string, string]>> = {
  plain: ['', ''],
  bold: ['\x1b[1m', '\x1b[22m'],
  dim: ['\x1b[2m', '\x1b[22m'],
  code: ['\x1b[36m', '\x1b[39m'],
  match: ['\x1b[1;33m', '\x1b[22;39m'],
};

/** Variables that select colors. Of both, `NO_COLOR` wins (https://no-color.org). */
export interface ColorVariables {
  readonly NO_COLOR?: string;
  readonly FORCE_COLOR?: string;
  readonly TERM?: string;
}

/** Whether a stream gets colors: by default on a terminal that is not `dumb`. */
export function hasColors(isTerminal: boolean, variables: ColorVariables): boolean {
  if (variables.NO_COLOR !== undefined && variables.NO_COLOR !== '') return false;
  if (variables.FORCE_COLOR !== undefined) return !['0', 'false'].includes(variables.FORCE_COLOR);
  return isTerminal && variables.TERM !== 'dumb';
}

/** Adds the escape sequence of the style to a text, which must not contain control characters. */
export function paint({ text, style }: StyledText): string {
  const [start, end] = sequences[style];
  return text === '' ? '' : start + text + end;
}
