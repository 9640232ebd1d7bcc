import { limits } from '../core/limits.ts';
import type { Heading } from './headings.ts';

const separator = ' > ';

/** Headings open at a position; positions must be ascending. */
export class HeadingPath {
  readonly #headings: readonly Heading[];
  #open: Heading[] = [];
  #next = 0;

  /** `headings` must be in order of position. */
  constructor(headings: readonly Heading[]) {
    this.#headings = headings;
  }

  /**
   * Returns the titles from the outermost to the innermost heading open at `position`; only headings at or
   * after `since` count.
   */
  titlesAt(position: number, since: number): string[] {
    for (; this.#next < this.#headings.length; this.#next += 1) {
      const heading = this.#headings[this.#next]!;
      if (heading.position > position) break;
      while (this.#open.length > 0 && this.#open.at(-1)!.rank >= heading.rank) this.#open.pop();
      this.#open.push(heading);
    }
    return this.#open.filter((heading) => heading.position >= since).map((heading) => heading.title);
  }
}

/** Returns the display name of a document: its title, else the last segment of its path. */
export function getDocumentName(title: string | null, path: string): string {
  const named = collapseWhitespace(title ?? '');
  if (named !== '') return named;
  return collapseWhitespace(path.split(/[/\\]/).findLast((part) => part.trim() !== '') ?? path);
}

/**
 * Returns "name > heading > heading" in at most `chunkPrefixUnitsMax` units. To fit, it drops outer headings
 * first, because the innermost heading describes the chunk best, then truncates the end of the line (never
 * inside a grapheme).
 */
export function buildChunkPrefix(name: string, headings: readonly string[]): string {
  const titles = headings.map(collapseWhitespace).filter((title) => title !== '' && title !== name);
  const unitsMax = limits.chunkPrefixUnitsMax;
  let innerTitles = titles;
  while (innerTitles.length > 1 && [name, ...innerTitles].join(separator).length > unitsMax)
    innerTitles = innerTitles.slice(1);
  const last = innerTitles.at(-1) ?? '';
  const nameUnitsMax =
    innerTitles.length === 0 ? unitsMax : Math.max(unitsMax - separator.length - last.length, unitsMax / 2);
  return truncate([truncate(name, nameUnitsMax), ...innerTitles].join(separator), unitsMax);
}

function collapseWhitespace(title: string): string {
  return title.replace(/[\s\p{Cc}]+/gu, ' ').trim();
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

function truncate(line: string, unitsMax: number): string {
  if (line.length <= unitsMax) return line;
  const index = graphemes.segment(line.slice(0, unitsMax + 2)).containing(unitsMax)?.index ?? 0;
  return line
    .slice(0, index > 0 ? index : unitsMax)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd();
}
