import { inflateRawSync } from 'node:zlib';
import type { ParseLimits } from './limits.ts';
import { ParseFailure } from './parse-failure.ts';

interface ZipEntry {
  readonly method: number;
  readonly flags: number;
  readonly compressedBytes: number;
  readonly headerOffset: number;
}

const stored = 0;
const deflated = 8;
const encryptedFlag = 1;
const centralHeaderBytes = 46;
const localHeaderBytes = 30;
/** Marker values that refer to the larger field of ZIP64. */
const [zip64Marker16, zip64Marker32] = [0xffff, 0xffffffff];
const zip64FieldId = 1;
const zip64LocatorBytes = 20;

/**
 * A zip container read from memory through its central directory. Declared sizes are not trusted: an entry is
 * inflated only as far as the budgets allow. Layout: PKWARE APPNOTE 6.3.
 */
export class ZipArchive {
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  private readonly limits: ParseLimits;
  private readonly entries = new Map<string, ZipEntry>();
  /** Stored names by their lower-case form; Office files may refer to their parts in any case. */
  private readonly namesInLowerCase = new Map<string, string>();
  private inflatedBytes = 0;

  /**
   * Errors: `corrupt` when the bytes have no readable directory, `too_large` when it has too many entries.
   */
  constructor(bytes: Uint8Array, limits: ParseLimits) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.limits = limits;
    this.readDirectory();
  }

  /** Names of all entries as stored; of duplicate names, the first wins. */
  listNames(): string[] {
    return [...this.entries.keys()];
  }

  has(name: string): boolean {
    return this.findEntry(name) !== undefined;
  }

  /**
   * Returns the inflated entry, or null when there is none of that name. Errors: `encrypted`, `unsupported`
   * compression method, `too_large`, `corrupt`.
   */
  read(name: string): Uint8Array | null {
    const entry = this.findEntry(name);
    if (entry === undefined) return null;
    if ((entry.flags & encryptedFlag) !== 0) {
      throw new ParseFailure('encrypted', `Part ${name} of the file is encrypted with a password.`);
    }
    const compressed = this.readCompressed(name, entry);
    if (entry.method === stored) return this.countInflated(name, compressed, compressed.length);
    if (entry.method !== deflated) {
      throw new ParseFailure(
        'unsupported',
        `Part ${name} uses the unsupported compression method ${entry.method}.`,
      );
    }
    return this.inflate(name, compressed);
  }

  private findEntry(name: string): ZipEntry | undefined {
    return this.entries.get(name) ?? this.entries.get(this.namesInLowerCase.get(name.toLowerCase()) ?? '');
  }

  private readDirectory(): void {
    const { count, start } = this.readDirectoryLocation();
    if (count > this.limits.zipEntriesMax) {
      throw new ParseFailure(
        'too_large',
        `The archive exceeds the limit of ${this.limits.zipEntriesMax} entries.`,
      );
    }
    let offset = start;
    for (let index = 0; index < count; index++) offset = this.readEntry(offset);
  }

  /** Returns the number of entries in the directory and its offset. */
  private readDirectoryLocation(): { count: number; start: number } {
    const end = this.findEndOfDirectory();
    const [count, start] = [this.view.getUint16(end + 10, true), this.view.getUint32(end + 16, true)];
    const locator = end - zip64LocatorBytes;
    const isZip64 = count === zip64Marker16 || start === zip64Marker32;
    if (!isZip64 || locator < 0 || this.view.getUint32(locator, true) !== 0x07064b50) return { count, start };
    const zip64Offset = this.readUint64(locator + 8);
    if (zip64Offset + 56 > this.bytes.length || this.view.getUint32(zip64Offset, true) !== 0x06064b50)
      throw corruptArchiveError();
    return { count: this.readUint64(zip64Offset + 32), start: this.readUint64(zip64Offset + 48) };
  }

  private readEntry(offset: number): number {
    const isInside = offset + centralHeaderBytes <= this.bytes.length;
    if (!isInside || this.view.getUint32(offset, true) !== 0x02014b50) throw corruptArchiveError();
    const nameBytes = this.view.getUint16(offset + 28, true);
    const nameStart = offset + centralHeaderBytes;
    const nameEnd = nameStart + nameBytes;
    const fieldsEnd = nameEnd + this.view.getUint16(offset + 30, true);
    if (fieldsEnd > this.bytes.length) throw corruptArchiveError();
    const stored = new TextDecoder().decode(this.bytes.subarray(nameStart, nameEnd));
    const name = stored.replaceAll('\\', '/').replace(/^(?:\.?\/)+/, '');
    if (!this.entries.has(name)) {
      this.entries.set(name, {
        flags: this.view.getUint16(offset + 8, true),
        method: this.view.getUint16(offset + 10, true),
        ...this.readEntryLocation(offset, nameEnd, fieldsEnd),
      });
      if (!this.namesInLowerCase.has(name.toLowerCase())) this.namesInLowerCase.set(name.toLowerCase(), name);
    }
    return fieldsEnd + this.view.getUint16(offset + 32, true);
  }

  /**
   * Reads packed size and offset of an entry. Values that exceed 32 bits are in the ZIP64 field, in this
   * order.
   */
  private readEntryLocation(
    offset: number,
    from: number,
    to: number,
  ): Pick<ZipEntry, 'compressedBytes' | 'headerOffset'> {
    const sizes = [24, 20, 42].map((at) => this.view.getUint32(offset + at, true));
    let [field, fieldEnd] = [from, from];
    for (let at = from; at + 4 <= to; at = fieldEnd) {
      fieldEnd = at + 4 + this.view.getUint16(at + 2, true);
      field = at + 4;
      if (this.view.getUint16(at, true) === zip64FieldId) break;
      field = fieldEnd;
    }
    const [, compressedBytes = 0, headerOffset = 0] = sizes.map((size) => {
      if (size !== zip64Marker32 || field + 8 > Math.min(to, fieldEnd)) return size;
      field += 8;
      return this.readUint64(field - 8);
    });
    return { compressedBytes, headerOffset };
  }

  /** Values above 2 ** 53 are rounded, which is far outside any file. */
  private readUint64(at: number): number {
    return Number(this.view.getBigUint64(at, true));
  }

  private findEndOfDirectory(): number {
    const lowest = Math.max(0, this.bytes.length - 22 - 65_535);
    for (let offset = this.bytes.length - 22; offset >= lowest; offset--) {
      if (this.view.getUint32(offset, true) === 0x06054b50) return offset;
    }
    throw corruptArchiveError();
  }

  private readCompressed(name: string, entry: ZipEntry): Uint8Array {
    const at = entry.headerOffset;
    if (at + localHeaderBytes > this.bytes.length || this.view.getUint32(at, true) !== 0x04034b50) {
      throw new ParseFailure(
        'corrupt',
        `The file is damaged: part ${name} is not at the offset in the directory.`,
      );
    }
    const start =
      at + localHeaderBytes + this.view.getUint16(at + 26, true) + this.view.getUint16(at + 28, true);
    const end = start + entry.compressedBytes;
    if (end > this.bytes.length) {
      throw new ParseFailure('corrupt', `The file is truncated inside part ${name}.`);
    }
    return this.bytes.subarray(start, end);
  }

  private inflate(name: string, compressed: Uint8Array): Uint8Array {
    const { zipEntryBytesMax, zipRatioFreeBytes, zipRatioMax } = this.limits;
    const byRatio = Math.max(zipRatioFreeBytes, compressed.length * zipRatioMax);
    const left = Math.max(0, this.limits.zipTotalBytesMax - this.inflatedBytes);
    // One byte above the limit distinguishes an entry that is too large from one that just fits.
    const maxOutputLength = Math.min(zipEntryBytesMax, byRatio, left) + 1;
    try {
      return this.countInflated(name, inflateRawSync(compressed, { maxOutputLength }), compressed.length);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null;
      if (code === 'ERR_BUFFER_TOO_LARGE') throw this.tooLargeError(name, { byRatio, left });
      if (code === 'Z_BUF_ERROR') {
        throw new ParseFailure('corrupt', `The file is damaged: part ${name} is truncated.`);
      }
      if (typeof code !== 'string' || !code.startsWith('Z_')) throw error;
      throw new ParseFailure('corrupt', `The file is damaged: part ${name} cannot be decompressed.`);
    }
  }

  /** Adds an unpacked entry to the budget. `packedBytes` is its compressed size. */
  private countInflated(name: string, content: Uint8Array, packedBytes: number): Uint8Array {
    const { zipEntryBytesMax, zipRatioFreeBytes, zipRatioMax, zipTotalBytesMax } = this.limits;
    const byRatio = Math.max(zipRatioFreeBytes, packedBytes * zipRatioMax);
    const left = zipTotalBytesMax - this.inflatedBytes;
    if (content.length > Math.min(zipEntryBytesMax, byRatio, left))
      throw this.tooLargeError(name, { byRatio, left });
    this.inflatedBytes += content.length;
    return content;
  }

  private tooLargeError(name: string, { byRatio, left }: { byRatio: number; left: number }): ParseFailure {
    const { zipEntryBytesMax, zipRatioMax, zipTotalBytesMax } = this.limits;
    const least = Math.min(zipEntryBytesMax, byRatio, left);
    if (least === left) {
      return new ParseFailure('too_large', `The file expands to more than ${zipTotalBytesMax} bytes.`);
    }
    const bound = least === byRatio ? `${zipRatioMax} times its size` : `${zipEntryBytesMax} bytes`;
    return new ParseFailure('too_large', `Part ${name} expands to more than ${bound}.`);
  }
}

function corruptArchiveError(): ParseFailure {
  return new ParseFailure('corrupt', 'The file is a zip container whose directory is missing or damaged.');
}
