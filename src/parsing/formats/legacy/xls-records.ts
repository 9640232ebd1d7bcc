import { decodeCodePage } from '../../encoding/code-page.ts';
import { TextBudget } from '../../text-budget.ts';
import { toCellText } from '../text/row-pages.ts';

/** Records of an Excel 97-2003 workbook and their strings. Source: [MS-XLS] 2.1.4, 2.5.293. */

const continueRecord = 0x3c;

export interface BiffRecord {
  readonly type: number;
  /** Bytes of the record itself, without its continuations. */
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** Bytes of the records that continue it. */
  readonly continuations: readonly Uint8Array[];
}

/** Yields the records from `offset`; a record truncated by the end of the stream is omitted. */
export function* readBiffRecords(stream: Uint8Array, offset: number): Generator<BiffRecord, void> {
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  let at = offset;
  const next = (): { type: number; bytes: Uint8Array } | null => {
    if (at + 4 > stream.length) return null;
    const [type, length] = [view.getUint16(at, true), view.getUint16(at + 2, true)];
    if (at + 4 + length > stream.length) return null;
    const bytes = stream.subarray(at + 4, at + 4 + length);
    at += 4 + length;
    return { type, bytes };
  };
  for (let record = next(); record !== null; ) {
    const more: Uint8Array[] = [];
    let following = next();
    for (; following?.type === continueRecord; following = next()) more.push(following.bytes);
    const { type, bytes } = record;
    yield {
      type,
      bytes,
      view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      continuations: more,
    };
    record = following;
  }
}

/** Returns a string with a length of one byte: a sheet name, or in Excel 95 a format. */
export function readShortString(record: BiffRecord, at: number, wide: boolean, codePage: number): string {
  const units = record.bytes[at] ?? 0;
  if (!wide) return decodeCodePage(record.bytes.subarray(at + 1, at + 1 + units), codePage);
  const isWide = ((record.bytes[at + 1] ?? 0) & 1) === 1;
  return decodeUnicode(record.bytes.subarray(at + 2, at + 2 + units * (isWide ? 2 : 1)), isWide);
}

/** Returns a Unicode string with a length of two bytes, including its continuation records. */
export function readWideString(record: BiffRecord, at: number): string {
  return new StringReader([record.bytes, ...record.continuations], at).read();
}

/** Returns the text of a shape, whose characters are in continuation records. */
export function readContinuedString(record: BiffRecord, units: number): string {
  const wide = ((record.continuations[0]?.[0] ?? 0) & 1) === 1;
  return new StringReader(record.continuations, 1).readCharacters(units, wide);
}

/** Returns the strings that cells refer to by index, each on one line. */
export function readSharedStrings(record: BiffRecord, textUnitsMax: number): string[] {
  if (record.bytes.length < 8) return [];
  const count = record.view.getUint32(4, true);
  const reader = new StringReader([record.bytes, ...record.continuations], 8);
  const budget = new TextBudget(textUnitsMax);
  const strings: string[] = [];
  while (strings.length < count && !reader.isAtEnd) {
    const text = toCellText(reader.read());
    budget.consume(text.length);
    strings.push(text);
  }
  return strings;
}

function decodeUnicode(bytes: Uint8Array, wide: boolean): string {
  return new TextDecoder(wide ? 'utf-16le' : 'latin1').decode(bytes);
}

/**
 * Reads consecutive strings across record boundaries. Where a boundary splits the characters of a string, the
 * next record starts with a byte that repeats their width.
 */
class StringReader {
  private readonly parts: readonly Uint8Array[];
  private part = 0;
  private at: number;

  constructor(parts: readonly Uint8Array[], at: number) {
    this.parts = parts;
    this.at = at;
  }

  get isAtEnd(): boolean {
    this.advanceToPart();
    return this.part >= this.parts.length;
  }

  read(): string {
    const units = this.readByte() | (this.readByte() << 8);
    const flags = this.readByte();
    const runs = (flags & 8) !== 0 ? this.readByte() | (this.readByte() << 8) : 0;
    const extension =
      (flags & 4) !== 0
        ? this.readByte() | (this.readByte() << 8) | (this.readByte() << 16) | (this.readByte() << 24)
        : 0;
    const text = this.readCharacters(units, (flags & 1) === 1);
    this.skip(runs * 4 + Math.max(0, extension));
    return text;
  }

  readCharacters(units: number, wide: boolean): string {
    let [left, text, isWide] = [units, '', wide];
    while (left > 0) {
      const part = this.parts[this.part];
      if (part === undefined) break;
      const width = isWide ? 2 : 1;
      const here = Math.min(left, Math.floor((part.length - this.at) / width));
      text += decodeUnicode(part.subarray(this.at, this.at + here * width), isWide);
      this.at += here * width;
      left -= here;
      if (left === 0) break;
      this.part += 1;
      this.at = 1;
      isWide = ((this.parts[this.part]?.[0] ?? 0) & 1) === 1;
    }
    return text;
  }

  private readByte(): number {
    this.advanceToPart();
    const byte = this.parts[this.part]?.[this.at] ?? 0;
    this.at += 1;
    return byte;
  }

  private skip(bytes: number): void {
    this.at += bytes;
    this.advanceToPart();
  }

  /** Advances to the part that contains the position. */
  private advanceToPart(): void {
    for (
      let part = this.parts[this.part];
      part !== undefined && this.at >= part.length;
      part = this.parts[this.part]
    ) {
      this.at -= part.length;
      this.part += 1;
    }
  }
}
