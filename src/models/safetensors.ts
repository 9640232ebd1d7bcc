import { readFile } from 'node:fs/promises';
import { decodeHalfFloats } from './half-floats.ts';

/** A tensor, as floats in row-major order. */
export interface NamedTensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

interface Entry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

const lengthBytes = 8;
const headerBytesMax = 100_000_000;

/**
 * Reads the tensors of a file in the safetensors format: 8 bytes little-endian with the length of a JSON
 * header, the header (name to type, shape and offsets), the data. Errors: Error that describes the defect.
 */
export async function readTensors(file: string): Promise<Map<string, NamedTensor>> {
  const bytes = await readFile(file);
  const headerBytes = bytes.length < lengthBytes ? Number.NaN : Number(bytes.readBigUInt64LE(0));
  const start = lengthBytes + headerBytes;
  if (!(headerBytes <= headerBytesMax && start <= bytes.length))
    throw new Error('not a complete safetensors file');
  const header = JSON.parse(bytes.toString('utf8', lengthBytes, start)) as Record<string, Entry>;
  const tensors = new Map<string, NamedTensor>();
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__') continue;
    const {
      dtype,
      shape,
      data_offsets: [from, to],
    } = entry;
    if (!(from >= 0 && to >= from && start + to <= bytes.length))
      throw new Error(`tensor "${name}" is truncated`);
    const data = decodeFloats(dtype, Uint8Array.prototype.slice.call(bytes, start + from, start + to));
    if (data === null) throw new Error(`tensor "${name}" has type ${dtype}; supported: F32, F16, BF16`);
    if (data.length !== shape.reduce((product, size) => product * size, 1))
      throw new Error(`tensor "${name}" does not match its shape`);
    tensors.set(name, { shape, data });
  }
  return tensors;
}

/**
 * `bytes` is aligned. The data is read in platform byte order: the format and all supported platforms are
 * little-endian.
 */
function decodeFloats(dtype: string, bytes: Uint8Array): Float32Array | null {
  const { buffer, byteLength } = bytes;
  if (dtype === 'F32') return new Float32Array(buffer, 0, byteLength / 4);
  if (dtype === 'F16') return decodeHalfFloats(new Uint16Array(buffer, 0, byteLength / 2));
  if (dtype !== 'BF16') return null;
  const halves = new Uint16Array(buffer, 0, byteLength / 2);
  return new Float32Array(Uint32Array.from(halves, (half) => half << 16).buffer);
}
