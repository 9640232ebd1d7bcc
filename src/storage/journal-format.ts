import { crc32 } from 'node:zlib';

/** One group of writes in a journal segment. */
export interface JournalRecord {
  readonly sequence: number;
  /** Sequence number of the record before it; a difference to the actual one shows a gap. */
  readonly previous: number;
  /** Time of the commit in milliseconds since the epoch; never decreases within a process. */
  readonly time: number;
}

export interface JournalEntry extends JournalRecord {
  /** The packed group. */
  readonly group: Uint8Array;
  /** Offset after the record. */
  readonly end: number;
}

/** u32 bytes of the group, f64 sequence, f64 previous, f64 time, u32 CRC of all before it and of the group. */
const headerBytes = 32;

export function encodeJournalHeader({ sequence, previous, time }: JournalRecord, group: Uint8Array): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt32LE(group.byteLength, 0);
  header.writeDoubleLE(sequence, 4);
  header.writeDoubleLE(previous, 12);
  header.writeDoubleLE(time, 20);
  header.writeUInt32LE(checksum(header, group), 28);
  return header;
}

/** Yields the records of a segment up to the first one that is incomplete or damaged. */
export function* decodeJournal(segment: Buffer): Generator<JournalEntry, void, void> {
  let offset = 0;
  while (offset + headerBytes <= segment.byteLength) {
    const start = offset + headerBytes;
    const header = segment.subarray(offset, start);
    const end = start + header.readUInt32LE(0);
    if (end > segment.byteLength) return;
    const group = segment.subarray(start, end);
    if (checksum(header, group) !== header.readUInt32LE(28)) return;
    const [sequence, previous, time] = [4, 12, 20].map((at) => header.readDoubleLE(at));
    yield { sequence: sequence!, previous: previous!, time: time!, group, end };
    offset = end;
  }
}

function checksum(header: Uint8Array, group: Uint8Array): number {
  return crc32(group, crc32(header.subarray(0, headerBytes - 4)));
}
