import t from 'tap';
import { toChunkVectors } from '../../src/models/page-vectors.ts';
import { dequantize } from '../../src/models/quantization.ts';

t.test('each passage and each of its parts has the vector of its page', (t) => {
  const pageVectors = Float32Array.of(1, 0, 0.6, 0.8, 0, -1);
  const chunk = (pageStart: number, children: number, blank = false) => ({ pageStart, children, blank });
  const chunks = [chunk(0, 2), chunk(1, 1, true), chunk(1, 1), chunk(1, 3), chunk(2, 1)];
  const { vectors, codes } = toChunkVectors(chunks, pageVectors, 2);
  t.same([...vectors], [...Float32Array.of(1, 0, 0.6, 0.8, 0.6, 0.8, 0, -1)]);
  const pages = [0, 0, 1, 1, 1, 1, 2];
  const parts = dequantize(codes, 2);
  t.equal(parts.length, 2 * pages.length);
  pages.forEach((page, i) => {
    for (const axis of [0, 1]) t.ok(Math.abs(parts[2 * i + axis]! - pageVectors[2 * page + axis]!) < 0.005);
  });
  const nothing = toChunkVectors([], new Float32Array(0), 2);
  t.same([nothing.vectors.length, nothing.codes.length], [0, 0]);
  t.end();
});
