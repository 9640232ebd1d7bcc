import { limits } from '../base/limits.ts';
import type { Heading } from './headings.ts';

const separator = ' > ';

/** The headings that are open at a position that only moves forward. */
export class HeadingPath {
  readonly #headings: readonly Heading[];
  #open: Heading[] = [];
  #next = 0;

  /** `headings` in order of position. */
  constructor(headings: readonly Heading[]) {
    this.#headings = headings;
  }

  /**
   * Titles from the outermost to the innermost heading open at `position`; only headings at or after
   * `since` count.
   */
  at(position: number, since: number): string[] {
    for (; this.#next < this.#headings.length; this.#next += 1) {
      const heading = this.#headings[this.#next]!;
      if (heading.position > position) break;
      while (this.#open.length > 0 && this.#open.at(-1)!.rank >= heading.rank) this.#open.pop();
      this.#open.push(heading);
    }
    return this.#open.filter((heading) => heading.position >= since).map((heading) => heading.title);
  }
}

/** What a document is called: its title, else the last part of its path. */
export function documentName(title: string | null, path: string): string {
  const named = clean(title ?? '');
  if (named !== '') return named;
  return clean(path.split(/[/\\]/).findLast((part) => part.trim() !== '') ?? path);
}

/**
 * "name > heading > heading" in at most `chunkPrefixUnitsMax` units. What does not fit goes: outer headings
 * first, because the innermost says most about the chunk, then the end of the line (never half a
 * character).
 */
export function chunkPrefix(name: string, headings: readonly string[]): string {
  const titles = headings.map(clean).filter((title) => title !== '' && title !== name);
  const room = limits.chunkPrefixUnitsMax;
  let inner = titles;
  while (inner.length > 1 && [name, ...inner].join(separator).length > room) inner = inner.slice(1);
  const last = inner.at(-1) ?? '';
  const nameRoom = inner.length === 0 ? room : Math.max(room - separator.length - last.length, room / 2);
  return cut([cut(name, nameRoom), ...inner].join(separator), room);
}

function clean(title: string): string {
  return title.replace(/[\s\p{Cc}]+/gu, ' ').trim();
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

function cut(line: string, room: number): string {
  if (line.length <= room) return line;
  const index = graphemes.segment(line.slice(0, room + 2)).containing(room)?.index ?? 0;
  return line
    .slice(0, index > 0 ? index : room)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd();
}
