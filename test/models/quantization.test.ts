import { dequantize, getCodeBytes, quantize } from '../../src/models/quantization.ts';
import t from '../support/tap.ts';

/** Rows of length 1 with components from a fixed pseudorandom sequence. */
function unitRows(rows: number, dimensions: number): Float32Array {
  let state = 7;
  const values = Float32Array.from({ length: rows * dimensions }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 31 - 1;
  });
  for (let row = 0; row < rows; row += 1) {
    const part = values.subarray(row * dimensions, (row + 1) * dimensions);
    const length = Math.hypot(...part);
    part.set(part.map((value) => value / length));
  }
  return values;
}

const dimensions = 320;
const vectors = unitRows(5, dimensions);

t.test('a record is a step and one byte per component', async (t) => {
  t.equal(getCodeBytes(dimensions), 324);
  t.equal(quantize(vectors, dimensions).length, 5 * 324);
  const record = quantize(Float32Array.of(0.5, -1, 0.25), 3);
  t.ok(Math.abs(new DataView(record.buffer).getFloat32(0, true) - 1 / 127) < 1e-9);
  t.same(Array.from(new Int8Array(record.buffer, 4)), [64, -127, 32]);
});

t.test('decoding restores every component within half a step', async (t) => {
  const back = dequantize(quantize(vectors, dimensions), dimensions);
  for (let row = 0; row < 5; row += 1) {
    const original = vectors.subarray(row * dimensions, (row + 1) * dimensions);
    const step = Math.max(...original.map(Math.abs)) / 127;
    for (let i = 0; i < dimensions; i += 1) {
      t.ok(Math.abs(original[i]! - back[row * dimensions + i]!) <= step * 0.500_01);
    }
  }
});

t.test('empty input and zero vectors are accepted', async (t) => {
  t.equal(quantize(new Float32Array(0), dimensions).length, 0);
  t.same(dequantize(quantize(new Float32Array(4), 4), 4), new Float32Array(4));
});

t.test('half a record is rejected', async (t) => {
  t.throws(() => quantize(new Float32Array(5), 4), /whole rows/);
  t.throws(() => dequantize(new Uint8Array(9), 4), /whole records/);
});
