/**
 * Returns the bytes of a typed array in memory order; all platforms of the RocksDB binding are little-endian.
 */
export function asBytes(array: Uint32Array | Float32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

export function asUint32(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(toAlignedBuffer(bytes));
}

/**
 * Returns a buffer that starts with these bytes, so that wider elements are aligned; copies only if
 * necessary.
 */
export function toAlignedBuffer(bytes: Uint8Array): ArrayBuffer {
  const { buffer, byteOffset, byteLength } = bytes;
  if (byteOffset === 0 && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) return buffer;
  return new Uint8Array(bytes).buffer;
}
