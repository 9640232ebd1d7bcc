/** The records that a PowerPoint 97-2003 stream is made of. Source: [MS-PPT] 2.3.1. */

export interface RecordHead {
  readonly type: number;
  readonly instance: number;
  readonly isContainer: boolean;
  readonly start: number;
  readonly end: number;
}

/** The records between two offsets; one that is cut ends where they end. */
export function* recordsIn(stream: Uint8Array, from: number, to: number): Generator<RecordHead, void> {
  for (let at = from; at + 8 <= to; ) {
    const head = uint16(stream, at);
    const end = Math.min(to, at + 8 + uint32(stream, at + 4));
    yield {
      type: uint16(stream, at + 2),
      instance: head >> 4,
      isContainer: (head & 15) === 15,
      start: at + 8,
      end,
    };
    at = end;
  }
}

export function recordAt(stream: Uint8Array, offset: number): RecordHead | null {
  return offset + 8 <= stream.length ? (recordsIn(stream, offset, stream.length).next().value ?? null) : null;
}

export function uint16(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
}

export function uint32(bytes: Uint8Array, at: number): number {
  return (uint16(bytes, at) | (uint16(bytes, at + 2) << 16)) >>> 0;
}
