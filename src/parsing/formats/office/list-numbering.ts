import { formatListNumber } from './list-number.ts';

/**
 * A level of Word's automatic numbering, such as `4.2`, `(a)` or `iv.`. Source: ECMA-376 part 1, section
 * 17.9.
 */

export interface ListLevel {
  start: number;
  /** Name from ECMA-376 part 1, 17.18.59, such as `decimal`, `bullet` or `none`. */
  format: string;
  /** Template, for example `%1.%2`: each `%n` stands for the count of level n. */
  text: string;
}

export const listLevelsMax = 9;
/** Maximum length of a template; longer ones are not numbers but an attempt to inflate the text. */
const levelTextUnitsMax = 255;

/** Lists, each an instance of a definition, and their current counts. */
export class ListNumbering {
  private readonly levelsByDefinition = new Map<string, ListLevel[]>();
  private readonly definitionByList = new Map<string, string>();
  private readonly starts = new Map<string, Map<number, number>>();
  private readonly counts = new Map<string, (number | null)[]>();

  /** Adds a definition without levels. */
  addDefinition(definition: string): void {
    this.levelsByDefinition.set(definition, []);
  }

  /** Returns a level of a definition; creates it on first access. */
  getLevel(definition: string, at: number): ListLevel {
    const levels = this.levelsByDefinition.get(definition) ?? [];
    const level = levels[at] ?? { start: 1, format: 'decimal', text: '' };
    levels[at] = level;
    return level;
  }

  /** Assigns a definition to a list. */
  addList(list: string, definition: string): void {
    this.definitionByList.set(list, definition);
  }

  /** Makes a list restart at a level. */
  restart(list: string, level: number, start: number): void {
    const starts = this.starts.get(list) ?? new Map<number, number>();
    starts.set(level, start);
    this.starts.set(list, starts);
  }

  /**
   * Counts the next paragraph of a list at `level` (0..8) and returns its label followed by a space: empty
   * for unknown lists and unnumbered levels, an indented `-` for any bullet.
   */
  nextLabel(list: string, level: number): string {
    const label = this.countNext(list, level).trim();
    if (label === '') return '';
    return label === '-' ? `${'  '.repeat(level)}- ` : `${label} `;
  }

  private countNext(list: string, level: number): string {
    const definition = this.definitionByList.get(list);
    const levels = definition === undefined ? undefined : this.levelsByDefinition.get(definition);
    const ownLevel = levels?.[level];
    if (definition === undefined || levels === undefined || ownLevel === undefined) return '';
    if (ownLevel.format === 'bullet') return '-';
    const counts = this.getCounts(list, definition);
    for (let upper = 0; upper < level; upper++) counts[upper] ??= this.getStart(list, levels, upper);
    const last = counts[level] ?? null;
    counts[level] = last === null ? this.getStart(list, levels, level) : last + 1;
    counts.fill(null, level + 1);
    if (ownLevel.format === 'none') return '';
    return ownLevel.text.slice(0, levelTextUnitsMax).replace(/%([1-9])/g, (_, digit: string) => {
      const at = Number(digit) - 1;
      return formatListNumber(counts[at] ?? 0, levels[at]?.format ?? 'decimal');
    });
  }

  /** Lists of one definition share their counts, unless a list restarts the numbering. */
  private getCounts(list: string, definition: string): (number | null)[] {
    const key = this.starts.has(list) ? `list ${list}` : `definition ${definition}`;
    const counts = this.counts.get(key) ?? new Array<number | null>(listLevelsMax).fill(null);
    this.counts.set(key, counts);
    return counts;
  }

  private getStart(list: string, levels: readonly ListLevel[], level: number): number {
    return this.starts.get(list)?.get(level) ?? levels[level]?.start ?? 1;
  }
}
