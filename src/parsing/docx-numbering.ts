import type { ParseLimits } from './limits.ts';
import { listNumber } from './list-number.ts';
import { openPart } from './office-package.ts';
import type { ZipArchive } from './zip.ts';

/** The automatic numbers of Word's lists and clauses: `4.2`, `(a)`, `iv.` Source: ECMA-376 part 1, section 17.9. */

interface Level {
  start: number;
  format: string;
  /** For example `%1.%2`: each `%n` stands for the count of level n. */
  text: string;
}

const levelsMax = 9;

export class DocxNumbering {
  private readonly levelsOf = new Map<string, Level[]>();
  private readonly abstractOf = new Map<string, string>();
  private readonly starts = new Map<string, Map<number, number>>();
  private readonly counts = new Map<string, (number | null)[]>();

  /** Reads `numbering.xml`; without it nothing has a number. */
  constructor(archive: ZipArchive, part: string | null, limits: ParseLimits) {
    if (part === null || !archive.has(part)) return;
    const reader = openPart(archive, part, limits);
    let [abstract, number, at] = ['', '', 0];
    for (let token = reader.next(); token !== 'end'; token = reader.next()) {
      if (token !== 'open') continue;
      const value = reader.attribute('val') ?? '';
      if (reader.name === 'abstractNum') {
        abstract = reader.attribute('abstractNumId') ?? '';
        this.levelsOf.set(abstract, []);
      } else if (reader.name === 'num') {
        number = reader.attribute('numId') ?? '';
        this.starts.set(number, new Map());
      } else if (reader.name === 'abstractNumId') this.abstractOf.set(number, value);
      else if (reader.name === 'lvl' || reader.name === 'lvlOverride') {
        at = levelNumber(reader.attribute('ilvl'));
        if (reader.name === 'lvl' && number === '') this.levelAt(abstract, at);
      } else if (reader.name === 'startOverride') this.starts.get(number)?.set(at, Number(value) || 0);
      else if (number === '') setProperty(this.levelAt(abstract, at), reader.name, value);
    }
  }

  /**
   * Counts one more paragraph of list `number` at `level` (0..8) and returns what Word writes before it: empty for unknown
   * lists and unnumbered levels, `-` for any bullet.
   */
  next(number: string, level: number): string {
    const abstract = this.abstractOf.get(number);
    const levels = abstract === undefined ? undefined : this.levelsOf.get(abstract);
    const own = levels?.[level];
    if (abstract === undefined || levels === undefined || own === undefined) return '';
    if (own.format === 'bullet') return '-';
    const counts = this.countsOf(number, abstract);
    for (let upper = 0; upper < level; upper++) counts[upper] ??= this.startOf(number, levels, upper);
    const last = counts[level] ?? null;
    counts[level] = last === null ? this.startOf(number, levels, level) : last + 1;
    counts.fill(null, level + 1);
    if (own.format === 'none') return '';
    return own.text.replace(/%([1-9])/g, (_, digit: string) => {
      const at = Number(digit) - 1;
      return listNumber(counts[at] ?? 0, levels[at]?.format ?? 'decimal');
    });
  }

  /** Lists of one definition go on counting together, unless a list restarts it. */
  private countsOf(number: string, abstract: string): (number | null)[] {
    const restarts = (this.starts.get(number)?.size ?? 0) > 0;
    const key = restarts ? `list ${number}` : `definition ${abstract}`;
    const counts = this.counts.get(key) ?? new Array<number | null>(levelsMax).fill(null);
    this.counts.set(key, counts);
    return counts;
  }

  private startOf(number: string, levels: readonly Level[], level: number): number {
    return this.starts.get(number)?.get(level) ?? levels[level]?.start ?? 1;
  }

  private levelAt(abstract: string, at: number): Level {
    const levels = this.levelsOf.get(abstract) ?? [];
    const level = levels[at] ?? { start: 1, format: 'decimal', text: '' };
    levels[at] = level;
    return level;
  }
}

function setProperty(level: Level, name: string, value: string): void {
  if (name === 'start') level.start = Number(value) || 0;
  else if (name === 'numFmt') level.format = value;
  else if (name === 'lvlText') level.text = value;
}

/** Levels beyond the ninth do not exist; what is no number is the first. */
export function levelNumber(value: string | null): number {
  const level = Math.trunc(Number(value ?? '0'));
  return level >= 0 && level < levelsMax ? level : 0;
}
