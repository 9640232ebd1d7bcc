import { formatListNumber } from './list-number.ts';

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
const levelTextUnitsMax = 255;

/** Lists, each an instance of a definition, and how far each of them has counted. */
export class ListNumbering {
  private readonly levelsByDefinition = new Map<string, ListLevel[]>();
  private readonly definitionByList = new Map<string, string>();
  private readonly starts = new Map<string, Map<number, number>>();
  private readonly counts = new Map<string, (number | null)[]>();

  /** A definition without levels yet. */
  addDefinition(definition: string): void {
    this.levelsByDefinition.set(definition, []);
  }

  /** The level of a definition, made when it is first asked for. */
  getLevel(definition: string, at: number): ListLevel {
    const levels = this.levelsByDefinition.get(definition) ?? [];
    const level = levels[at] ?? { start: 1, format: 'decimal', text: '' };
    levels[at] = level;
    return level;
  }

  /** Says which definition a list follows. */
  addList(list: string, definition: string): void {
    this.definitionByList.set(list, definition);
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

  /** Lists of one definition go on counting together, unless a list restarts it. */
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
