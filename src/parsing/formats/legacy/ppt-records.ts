/** Records of a PowerPoint 97-2003 stream. Source: [MS-PPT] 2.3.1. */

export interface RecordHeader {
  readonly type: number;
  readonly instance: number;
  readonly isContainer: boolean;
  readonly start: number;
  readonly end: number;
}

/** Yields the records between two offsets; a truncated record ends at the end of the range. */
export function* readRecords(stream: Uint8Array, from: number, to: number): Generator<RecordHeader, void> {
  for (let at = from; at + 8 <= to; ) {
    const head = readUint16(stream, at);
    const end = Math.min(to, at + 8 + readUint32(stream, at + 4));
    yield {
      type: readUint16(stream, at + 2),
      instance: head >> 4,
      isContainer: (head & 15) === 15,
      start: at + 8,
      end,
    };
    at = end;
  }
}

export function readRecordAt(stream: Uint8Array, offset: number): RecordHeader | null {
  return offset + 8 <= stream.length
    ? (readRecords(stream, offset, stream.length).next().value ?? null)
    : null;
}

export function readUint16(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return (readUint16(bytes, at) | (readUint16(bytes, at + 2) << 16)) >>> 0;
}
