import { listNumber } from './list-number.ts';

/** The automatic numbers of Word's lists and clauses: `4.2`, `(a)`, `iv.` Source: ECMA-376 part 1, section 17.9. */

export interface ListLevel {
  start: number;
  /** In the words of ECMA-376 part 1, 17.18.59: `decimal`, `bullet`, `none`. */
  format: string;
  /** For example `%1.%2`: each `%n` stands for the count of level n. */
  text: string;
}

export const listLevelsMax = 9;
/** What a file says beyond that is no number, but a way to make much of little. */
const textUnitsMax = 255;

/** Lists, each an instance of a definition, and how far each of them has counted. */
export class ListNumbering {
  private readonly levelsOf = new Map<string, ListLevel[]>();
  private readonly definitionOf = new Map<string, string>();
  private readonly starts = new Map<string, Map<number, number>>();
  private readonly counts = new Map<string, (number | null)[]>();

  /** A definition without levels yet. */
  define(definition: string): void {
    this.levelsOf.set(definition, []);
  }

  /** The level of a definition, made when it is first asked for. */
  level(definition: string, at: number): ListLevel {
    const levels = this.levelsOf.get(definition) ?? [];
    const level = levels[at] ?? { start: 1, format: 'decimal', text: '' };
    levels[at] = level;
    return level;
  }

  /** Says which definition a list follows. */
  addList(list: string, definition: string): void {
    this.definitionOf.set(list, definition);
  }

  /** Lets a list begin anew at a level. */
  restart(list: string, level: number, start: number): void {
    const starts = this.starts.get(list) ?? new Map<number, number>();
    starts.set(level, start);
    this.starts.set(list, starts);
  }

  /**
   * Counts one more paragraph of a list at `level` (0..8) and returns what Word writes before it, with a space behind it:
   * empty for unknown lists and unnumbered levels, an indented `-` for any bullet.
   */
  label(list: string, level: number): string {
    const label = this.next(list, level).trim();
    if (label === '') return '';
    return label === '-' ? `${'  '.repeat(level)}- ` : `${label} `;
  }

  private next(list: string, level: number): string {
    const definition = this.definitionOf.get(list);
    const levels = definition === undefined ? undefined : this.levelsOf.get(definition);
    const own = levels?.[level];
    if (definition === undefined || levels === undefined || own === undefined) return '';
    if (own.format === 'bullet') return '-';
    const counts = this.countsOf(list, definition);
    for (let upper = 0; upper < level; upper++) counts[upper] ??= this.startOf(list, levels, upper);
    const last = counts[level] ?? null;
    counts[level] = last === null ? this.startOf(list, levels, level) : last + 1;
    counts.fill(null, level + 1);
    if (own.format === 'none') return '';
    return own.text.slice(0, textUnitsMax).replace(/%([1-9])/g, (_, digit: string) => {
      const at = Number(digit) - 1;
      return listNumber(counts[at] ?? 0, levels[at]?.format ?? 'decimal');
    });
  }

  /** Lists of one definition go on counting together, unless a list restarts it. */
  private countsOf(list: string, definition: string): (number | null)[] {
    const key = this.starts.has(list) ? `list ${list}` : `definition ${definition}`;
    const counts = this.counts.get(key) ?? new Array<number | null>(listLevelsMax).fill(null);
    this.counts.set(key, counts);
    return counts;
  }

  private startOf(list: string, levels: readonly ListLevel[], level: number): number {
    return this.starts.get(list)?.get(level) ?? levels[level]?.start ?? 1;
  }
}
