import { toDimensions } from '../../src/models/dimensions.ts';
import { openEmbedder } from '../../src/models/registry.ts';
import t from '../support/tap.ts';

const embedder = await openEmbedder('zembed-1');
t.teardown(() => embedder.close());

function cosine(a: Float32Array, b: Float32Array): number {
  const dot = a.reduce((sum, value, index) => sum + value * b[index]!, 0);
  return dot / (Math.hypot(...a) * Math.hypot(...b));
}

const { vectors: left } = await embedder.embed(['the history of the steam engine'], 'query');
const { vectors: right } = await embedder.embed(['James Watt improved steam power in 1769.'], 'document');

t.test('vectors of every supported size have length 1', async (t) => {
  for (const size of [2560, 1280, 640, 320, 160, 80, 40]) {
    const vector = toDimensions(left, size);
    t.equal(vector.length, size);
    t.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-5, String(size));
  }
});

t.test('a smaller vector is a prefix of a larger one, up to normalization', async (t) => {
  for (const size of [160, 80, 40]) {
    t.ok(cosine(toDimensions(left, size), left.subarray(0, size)) > 0.999999, String(size));
  }
  const large = toDimensions(left, 2560);
  t.same(large.subarray(0, 320), left);
  t.ok(large.subarray(320).every((component) => component === 0));
});

t.test('padding changes no cosine, and cosines survive shortening', async (t) => {
  const real = cosine(left, right);
  for (const size of [2560, 1280, 640]) {
    t.ok(Math.abs(cosine(toDimensions(left, size), toDimensions(right, size)) - real) < 1e-6);
  }
  t.ok(Math.abs(cosine(toDimensions(left, 160), toDimensions(right, 160)) - real) < 0.25);
});

t.test('a prefix without length becomes an axis instead of NaN', async (t) => {
  t.same(toDimensions(Float32Array.of(0, 0, 1), 2), Float32Array.of(1, 0));
});

t.test('the input vector is not modified', async (t) => {
  const before = left.slice();
  toDimensions(left, 320)[0] = 9;
  toDimensions(left, 40)[0] = 9;
  t.same(left, before);
});
