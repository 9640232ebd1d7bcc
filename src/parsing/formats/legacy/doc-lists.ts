import { type ListLevel, ListNumbering, listLevelsMax } from '../office/list-numbering.ts';

/** Lists of a Word 97-2003 file. Source: [MS-DOC] 2.9.131 (LSTF), 2.9.150 (LVL), 2.9.136 (PlfLfo). */

const definitionBytes = 28;
const levelHeaderBytes = 28;
const listBytes = 16;
const listsMax = 100_000;

/** Number formats by their id in the file; all others are decimal. */
const formats: Readonly<Record<number, string>> = {
  1: 'upperRoman',
  2: 'lowerRoman',
  3: 'upperLetter',
  4: 'lowerLetter',
  22: 'decimalZero',
  23: 'bullet',
  255: 'none',
};

/** Placeholder characters for the count of a level, and the corresponding template syntax. */
const placeholders = new Map(
  Array.from({ length: listLevelsMax }, (_, level) => [String.fromCharCode(level), `%${level + 1}`]),
);

/**
 * Start offsets of the definition and list tables in the table stream, and their lengths in bytes; 0: no
 * table.
 */
export interface DocListTables {
  readonly definitions: readonly [start: number, bytes: number];
  readonly lists: readonly [start: number, bytes: number];
}

/**
 * Reads the lists. They are named by one-based index, as paragraphs refer to them. Lists that the file does
 * not contain yield no numbers.
 */
export function readDocLists(table: Uint8Array, { definitions, lists }: DocListTables): ListNumbering {
  const numbering = new ListNumbering();
  if (definitions[1] > 0) readDefinitions(new Cursor(table, definitions[0]), definitions[1], numbering);
  if (lists[1] > 0) readLists(new Cursor(table, lists[0]), numbering);
  return numbering;
}

/** Reads the headers of all definitions, then, after the table, the levels of each in turn. */
function readDefinitions(cursor: Cursor, bytes: number, numbering: ListNumbering): void {
  const { at: start } = cursor;
  const count = Math.min(cursor.readUint16(), listsMax);
  const heads: { id: string; levels: number }[] = [];
  for (let i = 0; i < count && !cursor.isAtEnd; i++) {
    const head = cursor.readView(definitionBytes);
    heads.push({
      id: String(head.getInt32(0, true)),
      levels: (head.getUint8(26) & 1) === 1 ? 1 : listLevelsMax,
    });
  }
  cursor.at = start + bytes;
  for (const { id, levels } of heads) {
    numbering.addDefinition(id);
    for (let level = 0; level < levels && !cursor.isAtEnd; level++) {
      Object.assign(numbering.getLevel(id, level), readLevel(cursor));
    }
  }
}

/** Reads a level; characters below 9 in its text stand for the count of that level. */
function readLevel(cursor: Cursor): ListLevel {
  const head = cursor.readView(levelHeaderBytes);
  cursor.at += head.getUint8(24) + head.getUint8(25);
  const text = cursor.readText(cursor.readUint16());
  return {
    start: head.getInt32(0, true),
    format: formats[head.getUint8(4)] ?? 'decimal',
    text: Array.from(text, (character) => placeholders.get(character) ?? character).join(''),
  };
}

/** Reads the headers of all lists, then for each list its overrides of the definition. */
function readLists(cursor: Cursor, numbering: ListNumbering): void {
  const count = Math.min(cursor.readUint32(), listsMax);
  const changes: number[] = [];
  for (let i = 1; i <= count && !cursor.isAtEnd; i++) {
    const head = cursor.readView(listBytes);
    numbering.addList(String(i), String(head.getInt32(0, true)));
    changes.push(head.getUint8(12));
  }
  for (const [i, levels] of changes.entries()) {
    cursor.at += 4;
    for (let change = 0; change < Math.min(levels, listLevelsMax) && !cursor.isAtEnd; change++) {
      const head = cursor.readView(8);
      const flags = head.getUint32(4, true);
      if ((flags & 0x10) !== 0) numbering.restart(String(i + 1), flags & 0x0f, head.getInt32(0, true));
      if ((flags & 0x20) !== 0) readLevel(cursor);
    }
  }
}

/** Sequential reader; bytes beyond the end read as zero. */
class Cursor {
  at: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#bytes.length;
  }

  readView(length: number): DataView {
    const copy = new Uint8Array(length);
    copy.set(this.#bytes.subarray(this.at, this.at + length));
    this.at += length;
    return new DataView(copy.buffer);
  }

  readUint16(): number {
    return this.readView(2).getUint16(0, true);
  }

  readUint32(): number {
    return this.readView(4).getUint32(0, true);
  }

  readText(units: number): string {
    const bytes = this.#bytes.subarray(this.at, this.at + units * 2);
    this.at += units * 2;
    return new TextDecoder('utf-16le').decode(bytes);
  }
}
