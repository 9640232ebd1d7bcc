import { toChunkVectors } from '../../src/models/page-vectors.ts';
import { dequantize } from '../../src/models/quantization.ts';
import t from '../support/tap.ts';

t.test('each coarse chunk and each of its fine chunks has the vector of its page', async (t) => {
  const pageVectors = Float32Array.of(1, 0, 0.6, 0.8, 0, -1);
  const chunk = (pageStart: number, children: number, blank = false) => ({ pageStart, children, blank });
  const chunks = [chunk(0, 2), chunk(1, 1, true), chunk(1, 1), chunk(1, 3), chunk(2, 1)];
  const readPageVector = (page: number) => pageVectors.subarray(2 * page, 2 * page + 2);
  let checks = 0;
  const yieldToEventLoop = () => {
    checks += 1;
    return null;
  };
  const options = { dimensions: 2, yieldToEventLoop };
  const { vectors, codes } = await toChunkVectors(chunks, readPageVector, options);
  t.equal(checks, 4, 'each chunk with text has a separate turn');
  t.same([...vectors], [...Float32Array.of(1, 0, 0.6, 0.8, 0.6, 0.8, 0, -1)]);
  const pages = [0, 0, 1, 1, 1, 1, 2];
  const parts = dequantize(codes, 2);
  t.equal(parts.length, 2 * pages.length);
  pages.forEach((page, i) => {
    for (const axis of [0, 1]) t.ok(Math.abs(parts[2 * i + axis]! - pageVectors[2 * page + axis]!) < 0.005);
  });
  const nothing = await toChunkVectors([], readPageVector, options);
  t.same([nothing.vectors.length, nothing.codes.length], [0, 0]);
});
