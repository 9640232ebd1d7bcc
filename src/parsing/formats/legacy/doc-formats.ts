import { listLevelsMax } from '../office/list-numbering.ts';

/**
 * Paragraph and character formats of a Word 97-2003 file, limited to those that affect the text. Source:
 * [MS-DOC].
 */

const pageBytes = 512;
const sprm = {
  inTable: 0x2416,
  rowEnd: 0x2417,
  outline: 0x2640,
  hidden: 0x083c,
  deleted: 0x0800,
  isObject: 0x080a,
  objectPlace: 0x6a03,
  objectName: 0x680e,
  nestedRow: 0x244c,
  listLevel: 0x260a,
  list: 0x460b,
};
const [tableDefinition, changedTabs] = [0xd608, 0xc615];
/** Ids of built-in styles; 1 to 9 are the headings. */
const titleStyleId = 62;
const ancestorsMax = 16;
const noStyleId = 0x0fff;
/** Style kind of paragraph styles. */
const paragraphStyleKind = 1;

export interface ParagraphFormat {
  /** Heading level; 0 for the title, null for running text. */
  readonly level: number | null;
  /** One-based index of the list that the paragraph belongs to; 0 for none. */
  readonly list: number;
  readonly listLevel: number;
  /** True for the mark that ends a table row. */
  readonly rowEnd: boolean;
  readonly inTable: boolean;
}

interface Parts {
  readonly styles: Uint8Array;
  readonly characters: Uint8Array;
  readonly paragraphs: Uint8Array;
}

/** End offsets of formats in the stream, in bytes and ascending, and the formats. */
interface Runs<T> {
  readonly ends: number[];
  readonly formats: T[];
}

const plainParagraph: ParagraphFormat = {
  level: null,
  list: 0,
  listLevel: 0,
  rowEnd: false,
  inTable: false,
};
/** Whether a character is hidden or deleted, and the id of the object that it stands for. */
interface CharacterFormat {
  readonly isHidden: boolean;
  readonly object: number | null;
}

const plainCharacter: CharacterFormat = { isHidden: false, object: null };
/** Properties that paragraphs inherit from their style. */
type StyleFormat = Pick<ParagraphFormat, 'level' | 'list' | 'listLevel'>;

export class DocFormats {
  /** False for file versions whose formats are not supported. */
  readonly areKnown: boolean;
  private readonly paragraphs: Runs<ParagraphFormat>;
  private readonly characters: Runs<CharacterFormat>;

  constructor(stream: Uint8Array, parts: Parts | null) {
    this.areKnown = parts !== null;
    const styles = parts === null ? [] : readStyles(parts.styles);
    this.paragraphs = readRuns(stream, parts?.paragraphs, 13, (page, at) =>
      readParagraphFormat(page, at, styles),
    );
    this.characters = readRuns(stream, parts?.characters, 1, readCharacterFormat);
  }

  /** Returns the format of the paragraph that ends at this byte offset. */
  paragraphAt(offset: number): ParagraphFormat {
    return findFormat(this.paragraphs, offset) ?? plainParagraph;
  }

  /** Returns whether the character is hidden or deleted, and the offset up to which this applies. */
  visibilityAt(offset: number): { isHidden: boolean; end: number } {
    const index = findRunIndex(this.characters.ends, offset);
    const end = this.characters.ends[index] ?? Number.POSITIVE_INFINITY;
    return { isHidden: this.characters.formats[index]?.isHidden ?? false, end };
  }

  /** Returns the id of the embedded object that the character stands for; null for none. */
  objectAt(offset: number): number | null {
    return findFormat(this.characters, offset)?.object ?? null;
  }
}

function findFormat<T>(runs: Runs<T>, offset: number): T | undefined {
  return runs.formats[findRunIndex(runs.ends, offset)];
}

/** Returns the index of the first end beyond the offset. */
function findRunIndex(ends: readonly number[], offset: number): number {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle]! > offset) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Reads formats from pages of 512 bytes: offsets of runs, then a pointer of `pointerBytes` for each. */
function readRuns<T>(
  stream: Uint8Array,
  table: Uint8Array | undefined,
  pointerBytes: number,
  read: (page: Uint8Array, at: number) => T,
): Runs<T> {
  const runs: { end: number; format: T }[] = [];
  const pages = table === undefined ? 0 : Math.floor((table.length - 4) / 8);
  const view = table === undefined ? null : new DataView(table.buffer, table.byteOffset, table.byteLength);
  for (let i = 0; i < pages && view !== null; i++) {
    const start = (view.getUint32((pages + 1) * 4 + i * 4, true) & 0x3fffff) * pageBytes;
    const page = stream.subarray(start, start + pageBytes);
    if (page.length < pageBytes) continue;
    const count = page[pageBytes - 1]!;
    const pageView = new DataView(page.buffer, page.byteOffset, page.byteLength);
    for (let run = 0; run < count; run++) {
      const pointer = (count + 1) * 4 + run * pointerBytes;
      if (pointer >= pageBytes) break;
      const offset = page[pointer]! * 2;
      runs.push({ end: pageView.getUint32((run + 1) * 4, true), format: read(page, offset) });
    }
  }
  runs.sort((a, b) => a.end - b.end);
  return { ends: runs.map(({ end }) => end), formats: runs.map(({ format }) => format) };
}

function readParagraphFormat(
  page: Uint8Array,
  offset: number,
  styles: readonly StyleFormat[],
): ParagraphFormat {
  if (offset === 0) return { ...plainParagraph, ...styles[0] };
  const short = page[offset] ?? 0;
  const start = short === 0 ? offset + 2 : offset + 1;
  const end = short === 0 ? start + (page[offset + 1] ?? 0) * 2 : start + short * 2 - 1;
  const style = (page[start] ?? 0) | ((page[start + 1] ?? 0) << 8);
  return applyProperties({ ...plainParagraph, ...styles[style] }, page, start + 2, end);
}

/** Applies the property changes between two offsets to a format. */
function applyProperties(
  from: ParagraphFormat,
  page: Uint8Array,
  start: number,
  end: number,
): ParagraphFormat {
  let { level, list, listLevel, rowEnd, inTable } = from;
  for (const { name, value, wide } of readProperties(page, start, end)) {
    if (name === sprm.outline && value < 9) level ??= value + 1;
    else if (name === sprm.rowEnd || name === sprm.nestedRow) rowEnd = value === 1;
    else if (name === sprm.inTable) inTable = value === 1;
    else if (name === sprm.listLevel) listLevel = Math.min(value, listLevelsMax - 1);
    else if (name === sprm.list) list = wide;
  }
  return { level, list, listLevel, rowEnd, inTable };
}

function readCharacterFormat(page: Uint8Array, offset: number): CharacterFormat {
  if (offset === 0) return plainCharacter;
  let { isHidden, object } = plainCharacter;
  let isObject = false;
  for (const { name, value, wide, at } of readProperties(
    page,
    offset + 1,
    offset + 1 + (page[offset] ?? 0),
  )) {
    const number = wide + (page[at + 2] ?? 0) * 0x1_0000 + (page[at + 3] ?? 0) * 0x100_0000;
    if (name === sprm.hidden || name === sprm.deleted) isHidden = value === 1;
    else if (name === sprm.isObject) isObject = value === 1;
    else if (name === sprm.objectPlace || name === sprm.objectName) object = number;
  }
  return { isHidden, object: isObject ? object : null };
}

/** Yields property changes with the offset of each value, its first byte, and its first two bytes. */
function* readProperties(
  page: Uint8Array,
  from: number,
  to: number,
): Generator<{ name: number; at: number; value: number; wide: number }, void> {
  const end = Math.min(to, page.length);
  for (let at = from; at + 3 <= end; ) {
    const name = page[at]! | (page[at + 1]! << 8);
    yield { name, at: at + 2, value: page[at + 2]!, wide: page[at + 2]! | ((page[at + 3] ?? 0) << 8) };
    at += 2 + getValueBytes(name, page, at + 2);
  }
}

function getValueBytes(name: number, page: Uint8Array, at: number): number {
  const first = page[at] ?? 0;
  switch (name >> 13) {
    case 0:
    case 1:
      return 1;
    case 2:
    case 4:
    case 5:
      return 2;
    case 3:
      return 4;
    case 7:
      return 3;
    default:
      if (name === tableDefinition) return 1 + (first | ((page[at + 1] ?? 0) << 8));
      return name === changedTabs && first === 255 ? pageBytes : 1 + first;
  }
}

/** A style with its own properties, and the style that it is based on. */
interface StyleDefinition extends StyleFormat {
  readonly base: number;
}

/**
 * Returns the paragraph properties of each style by its index in the file, with inherited properties
 * resolved.
 */
function readStyles(sheet: Uint8Array): StyleFormat[] {
  if (sheet.length < 20) return [];
  const view = new DataView(sheet.buffer, sheet.byteOffset, sheet.byteLength);
  const [count, baseBytes] = [view.getUint16(2, true), view.getUint16(4, true)];
  const definitions: StyleDefinition[] = [];
  let at = 2 + view.getUint16(0, true);
  for (let i = 0; i < count && at + 2 <= sheet.length; i++) {
    const bytes = view.getUint16(at, true);
    definitions.push(readStyle(sheet.subarray(at + 2, at + 2 + bytes), baseBytes));
    at += 2 + bytes;
  }
  return definitions.map((style) => {
    let { level, list, listLevel } = style;
    let ancestor = definitions[style.base];
    for (let steps = 0; ancestor !== undefined && steps < ancestorsMax; steps++) {
      level ??= ancestor.level;
      if (list === 0 && ancestor.list !== 0)
        [list, listLevel] = [ancestor.list, listLevel || ancestor.listLevel];
      ancestor = definitions[ancestor.base];
    }
    return { level, list, listLevel };
  });
}

/** Reads kind, base and name of a style; for paragraph styles also the property changes. */
function readStyle(style: Uint8Array, baseBytes: number): StyleDefinition {
  const { level: none, list, listLevel } = plainParagraph;
  if (style.length < 6) return { level: none, list, listLevel, base: noStyleId };
  const view = new DataView(style.buffer, style.byteOffset, style.byteLength);
  const level = toHeadingLevel(view.getUint16(0, true) & 0x0fff);
  const kind = view.getUint16(2, true);
  const base = kind >> 4;
  const nameEnd = baseBytes + 2 * ((style[baseBytes] ?? 0) | ((style[baseBytes + 1] ?? 0) << 8)) + 4;
  if ((kind & 15) !== paragraphStyleKind || nameEnd + 4 > style.length)
    return { level, list, listLevel, base };
  const end = nameEnd + 2 + view.getUint16(nameEnd, true);
  return { ...applyProperties({ ...plainParagraph, level }, style, nameEnd + 4, end), base };
}

function toHeadingLevel(builtIn: number): number | null {
  if (builtIn >= 1 && builtIn <= 9) return builtIn;
  return builtIn === titleStyleId ? 0 : null;
}
