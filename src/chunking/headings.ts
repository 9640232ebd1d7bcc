import { limits } from '../core/limits.ts';

/**
 * A heading line. `position` is the UTF-16 offset of its line; a heading closes all open headings of equal or
 * higher rank.
 */
export interface Heading {
  readonly position: number;
  readonly rank: number;
  readonly title: string;
}

/**
 * Ranks: Markdown and numbered headings count ten per level; unnumbered lines in capitals rank above them,
 * other title-like lines below.
 */
const rankPerLevel = 10;
const capitalsRank = 5;
const titleLikeRank = 80;

const markdownHeading = /^ {0,3}(#{1,6})[ \t]+(\S.*)$/;
const numberedHeading = /^(\d{1,3}(?:\.\d{1,3}){0,5})[.)]?[ \t]+(\p{Lu}|\p{Lo})/u;
const sectionWords = [
  'chapter section article part appendix annex',
  'kapitel abschnitt artikel teil anhang',
  'chapitre partie annexe capítulo sección artículo parte capitolo sezione articolo',
  'hoofdstuk глава раздел статья',
].flatMap((names) => names.split(' '));
const namedHeading = new RegExp(`^(?:${sectionWords.join('|')})[ \\t]+[\\divxlc]+\\b`, 'iu');
const cjkHeading = /^第[一二三四五六七八九十百千零〇\d]{1,6}[章节節条條部编編回]/u;
const sentenceEnd = /[.,;:!?…。，；：！？]$/u;

interface Line {
  readonly start: number;
  /** Without the line ending and surrounding white space. */
  readonly text: string;
  readonly afterBlank: boolean;
}

/**
 * Returns the headings of a text in order: Markdown (`#` and underlined), numbered, named ("Chapter 4") and
 * short title-like lines. `pageStarts` are UTF-16 offsets; the first line of a page counts as following a
 * blank line. `markupOnly` ignores lines that only resemble a title, as rows of a table often do. Linear in
 * the text.
 */
export function findHeadings(text: string, pageStarts: readonly number[], markupOnly: boolean): Heading[] {
  const headings: Heading[] = [];
  let previous: Line | null = null;
  let afterBlank = true;
  let fence: string | null = null;
  let page = 0;
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    while (page < pageStarts.length && pageStarts[page]! <= start) {
      if (pageStarts[page] === start) {
        afterBlank = true;
        fence = null;
      }
      page += 1;
    }
    const line: Line | null =
      end - start <= limits.headingUnitsMax
        ? { start, text: text.slice(start, end).trim(), afterBlank }
        : null;
    const marker = line === null ? null : findFenceMarker(line.text);
    if (marker !== null && (fence === null || marker === fence)) {
      fence = fence === null ? marker : null;
    } else if (line !== null && fence === null && line.text !== '') {
      const heading = parseHeading(text, line, end, previous, markupOnly);
      if (heading !== null) {
        if (headings.at(-1)?.position === heading.position) headings.pop();
        headings.push(heading);
      }
    }
    afterBlank = line !== null && line.text === '';
    previous = line;
    start = end + 1;
  }
  return headings;
}

function findFenceMarker(line: string): string | null {
  if (line.startsWith('```')) return '```';
  return line.startsWith('~~~') ? '~~~' : null;
}

function parseHeading(
  text: string,
  line: Line,
  end: number,
  previous: Line | null,
  markupOnly: boolean,
): Heading | null {
  const underlined = parseUnderlinedHeading(line, previous);
  if (underlined !== null) return underlined;
  if (line.text.charCodeAt(0) === 0x23) return parseMarkdownHeading(line);
  return markupOnly ? null : parseTitleLikeHeading(text, line, end);
}

function parseMarkdownHeading(line: Line): Heading | null {
  const match = markdownHeading.exec(line.text);
  if (match === null) return null;
  return {
    position: line.start,
    rank: match[1]!.length * rankPerLevel,
    title: match[2]!.replace(/[ \t]#+$/, '').trim(),
  };
}

/** Parses a line of `===` or `---` under a single line of text. */
function parseUnderlinedHeading(line: Line, previous: Line | null): Heading | null {
  const mark = line.text[0];
  if ((mark !== '=' && mark !== '-') || line.text.length < 3) return null;
  if (previous === null || previous.text === '' || !previous.afterBlank) return null;
  for (const character of line.text) if (character !== mark) return null;
  return { position: previous.start, rank: (mark === '=' ? 1 : 2) * rankPerLevel, title: previous.text };
}

function parseTitleLikeHeading(text: string, line: Line, end: number): Heading | null {
  const { start: position, text: title } = line;
  if (title.length > limits.titleLikeUnitsMax || title.length < 3 || sentenceEnd.test(title)) return null;
  const first = title.charCodeAt(0);
  if (first >= 0x30 && first <= 0x39) {
    const numbered = numberedHeading.exec(title);
    if (numbered === null) return null;
    const levels = numbered[1]!.split('.').length;
    return levels > 1 || line.afterBlank ? { position, rank: levels * rankPerLevel, title } : null;
  }
  if (!line.afterBlank) return null;
  if (namedHeading.test(title) || cjkHeading.test(title)) return { position, rank: capitalsRank, title };
  if (!isFollowedByBlankLine(text, end)) return null;
  if (isUpperCase(title)) return { position, rank: capitalsRank, title };
  return isTitleCase(title) ? { position, rank: titleLikeRank, title } : null;
}

function isFollowedByBlankLine(text: string, lineEnd: number): boolean {
  for (let index = lineEnd + 1; index < Math.min(text.length, lineEnd + limits.headingUnitsMax); index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === 0x0a) return true;
    if (unit !== 0x20 && unit !== 0x09 && unit !== 0x0d) return false;
  }
  return false;
}

function isUpperCase(title: string): boolean {
  return title === title.toUpperCase() && (title.match(/\p{Lu}/gu)?.length ?? 0) >= 4;
}

/**
 * Whether the first word and every word longer than three letters start with a capital; at most twelve words.
 */
function isTitleCase(title: string): boolean {
  const words = title.split(/\s+/);
  if (words.length > 12) return false;
  return words.every((word, index) =>
    index > 0 && word.length <= 3 ? true : /^[\p{Ps}\p{Pi}"']?[\p{Lu}\p{Lt}]/u.test(word),
  );
}
