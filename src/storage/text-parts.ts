/** A possibly long text, in order. Each part is read when it is requested, in less than a millisecond. */
export type TextParts = Iterable<string>;

/** Bytes decoded per step. */
const decodedBytesMax = 262_144;

/** Decodes a page of UTF-8 in steps. */
export function* decodeTextParts(bytes: Uint8Array): TextParts {
  for (let start = 0; start < bytes.byteLength; ) {
    let end = Math.min(bytes.byteLength, start + decodedBytesMax);
    // Keep the bytes of a character together: continuation bytes begin with the bits 10.
    while (end < bytes.byteLength && (bytes[end]! & 0xc0) === 0x80) end -= 1;
    yield decodeUtf8(bytes.subarray(start, end));
    start = end;
  }
}

export function decodeUtf8(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
