import { type FileHandle, open } from 'node:fs/promises';
import { endianness } from 'node:os';
import { assert } from '../../src/core/assert.ts';

/**
 * Rows of 32-bit floats on disk, read block by block: `.npy` (version 1 or 2, little-endian float32, two
 * dimensions, C order) and `.fvecs` (each row preceded by its length). The bench itself writes `.npy`.
 */
export interface VectorFile {
  readonly path: string;
  readonly rows: number;
  readonly dimensions: number;
  /** Reads `count` rows starting at `first`, concatenated; the range must be within the file. */
  read(first: number, count: number): Promise<Float32Array>;
  close(): Promise<void>;
}

const npyMagic = '\x93NUMPY';
const npyAlignment = 64;
const floatBytes = 4;
const dimensionsMax = 65_536;

assert(endianness() === 'LE', 'vector files are read in the byte order of the file, which is little-endian');

/** Opens a vector file. Errors: Error if it has neither of the formats. */
export async function openVectorFile(path: string): Promise<VectorFile> {
  const file = await open(path);
  try {
    return path.endsWith('.fvecs') ? await fvecsFile(path, file) : await npyFile(path, file);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Returns the result of `use` with the open file, which is closed afterwards. */
export async function withVectorFile<T>(path: string, use: (file: VectorFile) => Promise<T>): Promise<T> {
  const file = await openVectorFile(path);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

async function npyFile(path: string, file: FileHandle): Promise<VectorFile> {
  const { size } = await file.stat();
  const head = await readBytes(file, 0, Math.min(size, 4_096));
  const long = head[6] === 2;
  const start = long ? 12 : 10;
  if (head.toString('latin1', 0, 6) !== npyMagic || size < start)
    throw invalidFile(path, 'is not a .npy file');
  const headBytes = long ? head.readUInt32LE(8) : head.readUInt16LE(8);
  const facts = head.toString('latin1', start, start + headBytes);
  const shape = /'shape': \((\d+), (\d+),?\)/.exec(facts);
  if (shape === null || !/'descr': '<f4'/.test(facts) || !/'fortran_order': False/.test(facts)) {
    throw invalidFile(path, `does not contain rows of little-endian 32-bit floats: ${facts.trim()}`);
  }
  const [rows, dimensions] = [Number(shape[1]), Number(shape[2])];
  const from = start + headBytes;
  checkSize(path, { rows, dimensions, expectedBytes: from + rows * dimensions * floatBytes, size });
  const rowBytes = dimensions * floatBytes;
  return {
    path,
    rows,
    dimensions,
    async read(first, count) {
      assert(first >= 0 && first + count <= rows, 'the rows lie within the file');
      return floats(await readBytes(file, from + first * rowBytes, count * rowBytes));
    },
    close: () => file.close(),
  };
}

async function fvecsFile(path: string, file: FileHandle): Promise<VectorFile> {
  const { size } = await file.stat();
  if (size < 4) throw invalidFile(path, 'is empty');
  const dimensions = (await readBytes(file, 0, 4)).readInt32LE(0);
  const rowFloats = dimensions + 1;
  const rows = Math.floor(size / (rowFloats * floatBytes));
  checkSize(path, { rows, dimensions, expectedBytes: rows * rowFloats * floatBytes, size });
  return {
    path,
    rows,
    dimensions,
    async read(first, count) {
      assert(first >= 0 && first + count <= rows, 'the rows lie within the file');
      const bytes = await readBytes(file, first * rowFloats * floatBytes, count * rowFloats * floatBytes);
      const raw = floats(bytes);
      const values = new Float32Array(count * dimensions);
      for (let row = 0; row < count; row++) {
        if (bytes.readInt32LE(row * rowFloats * floatBytes) !== dimensions) {
          throw invalidFile(path, `contains rows of different lengths: row ${first + row}`);
        }
        values.set(raw.subarray(row * rowFloats + 1, (row + 1) * rowFloats), row * dimensions);
      }
      return values;
    },
    close: () => file.close(),
  };
}

function checkSize(
  path: string,
  {
    rows,
    dimensions,
    expectedBytes,
    size,
  }: { rows: number; dimensions: number; expectedBytes: number; size: number },
): void {
  if (dimensions < 1 || dimensions > dimensionsMax) throw invalidFile(path, `has ${dimensions} dimensions`);
  if (rows < 1) throw invalidFile(path, 'contains no rows');
  if (expectedBytes !== size) throw invalidFile(path, `has ${size} bytes, but ${expectedBytes} are expected`);
}

function invalidFile(path: string, problem: string): Error {
  return new Error(`${path} ${problem}.`);
}

async function readBytes(file: FileHandle, from: number, count: number): Promise<Buffer> {
  const bytes = Buffer.alloc(count);
  for (let done = 0; done < count; ) {
    const { bytesRead } = await file.read(bytes, done, count - done, from + done);
    if (bytesRead === 0) throw new Error(`The vector file is truncated: ${count - done} bytes are missing.`);
    done += bytesRead;
  }
  return bytes;
}

function floats(bytes: Buffer): Float32Array {
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / floatBytes);
}

/** Returns the header of an `.npy` file of 32-bit floats. */
function encodeNpyHeader(rows: number, dimensions: number): Buffer {
  const facts = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows}, ${dimensions}), }`;
  const bytes = Math.ceil((10 + facts.length + 1) / npyAlignment) * npyAlignment;
  const head = Buffer.alloc(bytes, ' ');
  head.write(`${npyMagic}\x01\x00`, 'latin1');
  head.writeUInt16LE(bytes - 10, 8);
  head.write(facts, 10, 'latin1');
  head.write('\n', bytes - 1, 'latin1');
  return head;
}

/** Writes an `.npy` file; `blocks` yields its rows in order, in blocks of any size. */
export async function writeVectorFile(
  path: string,
  { rows, dimensions }: { readonly rows: number; readonly dimensions: number },
  blocks: Iterable<Float32Array> | AsyncIterable<Float32Array>,
): Promise<void> {
  const file = await open(path, 'w');
  try {
    await file.writeFile(encodeNpyHeader(rows, dimensions));
    let written = 0;
    for await (const block of blocks) {
      await file.writeFile(Buffer.from(block.buffer, block.byteOffset, block.byteLength));
      written += block.length;
    }
    assert(written === rows * dimensions, 'the blocks hold all rows');
  } finally {
    await file.close();
  }
}
