import { assert } from '../core/assert.ts';

/**
 * Vectors as 8-bit codes: a quarter of the memory, with a cosine error of about .001. One vector is a record
 * of 4 + dimensions bytes: its step as a little-endian f32, then one signed byte per component; component =
 * code x step. Records are contiguous, in the order of the vectors.
 */
const stepBytes = 4;

/** Bytes of one vector's record. */
export function getCodeBytes(dimensions: number): number {
  return stepBytes + dimensions;
}

/**
 * Returns the records of `vectors` (rows of `dimensions` components). The largest component of each row
 * becomes +-127.
 */
export function quantize(vectors: Float32Array, dimensions: number): Uint8Array {
  assert(vectors.length % dimensions === 0, 'vectors are whole rows');
  const rows = vectors.length / dimensions;
  const records = new Uint8Array(rows * getCodeBytes(dimensions));
  const view = new DataView(records.buffer);
  const codes = new Int8Array(records.buffer);
  for (let row = 0; row < rows; row += 1) {
    const start = row * dimensions;
    let peak = 0;
    for (let i = start; i < start + dimensions; i += 1) peak = Math.max(peak, Math.abs(vectors[i]!));
    const record = row * getCodeBytes(dimensions);
    view.setFloat32(record, peak / 127, true);
    const scale = peak === 0 ? 0 : 127 / peak;
    for (let i = 0; i < dimensions; i += 1) {
      codes[record + stepBytes + i] = Math.round(vectors[start + i]! * scale);
    }
  }
  return records;
}

/** Decodes records to vectors, row by row. */
export function dequantize(records: Uint8Array, dimensions: number): Float32Array {
  assert(records.length % getCodeBytes(dimensions) === 0, 'codes are whole records');
  const rows = records.length / getCodeBytes(dimensions);
  const view = new DataView(records.buffer, records.byteOffset, records.byteLength);
  const vectors = new Float32Array(rows * dimensions);
  for (let row = 0; row < rows; row += 1) {
    const record = row * getCodeBytes(dimensions);
    const step = view.getFloat32(record, true);
    for (let i = 0; i < dimensions; i += 1) {
      vectors[row * dimensions + i] = view.getInt8(record + stepBytes + i) * step;
    }
  }
  return vectors;
}
