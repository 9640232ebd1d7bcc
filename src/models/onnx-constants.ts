import { assert } from '../core/assert.ts';

/** Protocol Buffers wire types that ONNX uses. */
const wireVarint = 0;
const wireFixed64 = 1;
const wireBytes = 2;
const wireFixed32 = 5;

/** Field numbers in onnx.proto. */
const modelGraph = 7;
const graphInitializer = 5;
const tensorName = 8;
const tensorRawData = 9;

interface Field {
  readonly number: number;
  /** Content of a length-delimited field; empty for other wire types. */
  readonly bytes: Uint8Array;
}

/** Reads a varint: 7 bits per byte, least significant first. Values above 2^53 lose their lowest bits. */
function readVarint(bytes: Uint8Array, start: number): { value: number; end: number } {
  let value = 0;
  let factor = 1;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    value += (byte & 0x7f) * factor;
    factor *= 128;
    if (byte < 0x80) return { value, end: at + 1 };
  }
  throw new Error('the ONNX file is truncated');
}

function* readFields(message: Uint8Array): Generator<Field> {
  let at = 0;
  while (at < message.length) {
    const tag = readVarint(message, at);
    const wire = tag.value % 8;
    const number = Math.floor(tag.value / 8);
    let start = tag.end;
    let length = 0;
    if (wire === wireVarint) start = readVarint(message, start).end;
    else if (wire === wireFixed64) start += 8;
    else if (wire === wireFixed32) start += 4;
    else {
      assert(wire === wireBytes, 'the ONNX file has fields of known types');
      const size = readVarint(message, start);
      start = size.end;
      length = size.value;
    }
    at = start + length;
    assert(at <= message.length, 'the ONNX file is complete');
    yield { number, bytes: message.subarray(start, at) };
  }
}

function findBytes(message: Uint8Array, number: number): Uint8Array | undefined {
  for (const field of readFields(message)) if (field.number === number) return field.bytes;
  return undefined;
}

/**
 * Returns the constant float tensor `name` of an ONNX model with embedded data. Errors: Error if it does not
 * exist.
 */
export function readOnnxFloats(model: Uint8Array, name: string): Float32Array {
  const graph = findBytes(model, modelGraph) ?? new Uint8Array(0);
  for (const { number, bytes } of readFields(graph)) {
    if (number !== graphInitializer) continue;
    if (Buffer.from(findBytes(bytes, tensorName) ?? []).toString('utf8') !== name) continue;
    const data = findBytes(bytes, tensorRawData);
    assert(data !== undefined && data.length % 4 === 0, `the constant "${name}" contains floats`);
    return new Float32Array(new Uint8Array(data).buffer);
  }
  throw new Error(`the ONNX model has no constant "${name}"`);
}
