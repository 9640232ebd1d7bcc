import type { ParseLimits } from '../../limits.ts';
import type { XmlReader } from '../../xml-reader.ts';
import type { ZipArchive } from '../../zip.ts';
import { formatListNumber } from '../office/list-number.ts';
import { openPart } from '../office/office-package.ts';

interface ParagraphStyle {
  parent: string | null;
  breakBefore: boolean;
  breakAfter: boolean;
}

interface ListLevel {
  /** Format name as for `formatListNumber`; `bullet`, or empty for no label. */
  readonly format: string;
  readonly prefix: string;
  readonly suffix: string;
  readonly start: number;
  /** Number of levels shown in the label: 2 for `4.2`. */
  readonly displayLevels: number;
}

/** Maximum length of an inheritance chain; longer chains are loops. */
const ancestorsMax = 16;
/** Name under which heading numbers are stored; no style in a file can have it. */
const outlineStyleName = '\0outline';
const levelsMax = 10;

const numberFormats = new Map([
  ['1', 'decimal'],
  ['a', 'lowerLetter'],
  ['A', 'upperLetter'],
  ['i', 'lowerRoman'],
  ['I', 'upperRoman'],
]);

/**
 * Structural properties of the styles of an OpenDocument file: page breaks, the title, and labels of lists
 * and headings.
 */
export class OpenDocumentStyles {
  private readonly paragraphs = new Map<string, ParagraphStyle>();
  private readonly lists = new Map<string, (ListLevel | undefined)[]>();

  /** Reads `styles.xml` if it exists; `read` adds the styles inside `content.xml`. */
  constructor(archive: ZipArchive, limits: ParseLimits) {
    if (!archive.has('styles.xml')) return;
    const reader = openPart(archive, 'styles.xml', limits);
    if (reader.next() === 'open') this.read(reader);
  }

  /** After the `open` of an element that contains styles: reads all of them and consumes its `close`. */
  read(reader: XmlReader): void {
    const target = reader.depth - 1;
    let style: ParagraphStyle | null = null;
    let list = '';
    while (reader.depth > target) {
      if (reader.next() !== 'open') continue;
      if (reader.name === 'style') style = this.addStyle(reader);
      else if (reader.name === 'paragraph-properties' && style !== null) readBreaks(style, reader);
      else if (reader.name === 'list-style') list = reader.findAttribute('name') ?? '';
      else if (reader.name === 'outline-style') list = outlineStyleName;
      else if (/^(?:list|outline)-level-style/.test(reader.name)) this.addLevel(list, reader);
    }
  }

  isTitle(name: string | null): boolean {
    for (let steps = 0; name !== null && steps < ancestorsMax; steps++) {
      if (name === 'Title') return true;
      name = this.paragraphs.get(name)?.parent ?? null;
    }
    return false;
  }

  hasBreakBefore(name: string | null): boolean {
    return name !== null && this.paragraphs.get(name)?.breakBefore === true;
  }

  hasBreakAfter(name: string | null): boolean {
    return name !== null && this.paragraphs.get(name)?.breakAfter === true;
  }

  /**
   * Counts the next item at `level` (1..10) and returns its label: `-` for any bullet, empty for none.
   * `counts` belongs to the list and is modified.
   */
  nextLabel(list: string | null, level: number, counts: (number | undefined)[]): string {
    const levels = list === null ? undefined : this.lists.get(list);
    const ownLevel = levels?.[level];
    if (levels === undefined || ownLevel === undefined) return '';
    if (ownLevel.format === 'bullet') return '-';
    for (let upper = 1; upper < level; upper++) counts[upper] ??= levels[upper]?.start ?? 1;
    const last = counts[level];
    counts[level] = last === undefined ? ownLevel.start : last + 1;
    counts.length = level + 1;
    if (ownLevel.format === '') return '';
    const numbers: string[] = [];
    for (let at = Math.max(1, level - ownLevel.displayLevels + 1); at <= level; at++) {
      const format = levels[at]?.format ?? '';
      if (format !== '' && format !== 'bullet') numbers.push(formatListNumber(counts[at] ?? 0, format));
    }
    return `${ownLevel.prefix}${numbers.join('.')}${ownLevel.suffix}`.trim();
  }

  /** Returns the number of a heading if the file numbers its headings. */
  nextHeadingLabel(level: number, counts: (number | undefined)[]): string {
    return this.nextLabel(outlineStyleName, level, counts);
  }

  private addStyle(reader: XmlReader): ParagraphStyle {
    const master = reader.findAttribute('master-page-name') ?? '';
    const style = {
      parent: reader.findAttribute('parent-style-name'),
      breakBefore: master !== '',
      breakAfter: false,
    };
    this.paragraphs.set(reader.findAttribute('name') ?? '', style);
    return style;
  }

  private addLevel(list: string, reader: XmlReader): void {
    const levels = this.lists.get(list) ?? [];
    this.lists.set(list, levels);
    const level = parseLevel(reader.findAttribute('level'));
    const number = numberFormats.get(reader.findAttribute('num-format') ?? '') ?? '';
    levels[level] = {
      format: reader.name.endsWith('bullet') || reader.name.endsWith('image') ? 'bullet' : number,
      prefix: reader.findAttribute('num-prefix') ?? '',
      suffix: reader.findAttribute('num-suffix') ?? '',
      start: Number(reader.findAttribute('start-value') ?? '1') || 0,
      displayLevels: parseLevel(reader.findAttribute('display-levels')),
    };
  }
}

function readBreaks(style: ParagraphStyle, reader: XmlReader): void {
  style.breakBefore ||= reader.findAttribute('break-before') === 'page';
  style.breakAfter ||= reader.findAttribute('break-after') === 'page';
}

/** Returns a level from 1 to 10; 1 for an invalid value. */
export function parseLevel(value: string | null): number {
  const level = Math.trunc(Number(value ?? '1'));
  return level >= 1 && level <= levelsMax ? level : 1;
}
