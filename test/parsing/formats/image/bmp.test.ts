import { decodeBmp } from '../../../../src/parsing/formats/image/bmp.ts';
import t from '../../../support/tap.ts';
import { bitmap, bitmapCases } from './bmp-cases.ts';

const reds = (bytes: Uint8Array) => {
  const { pixels } = decodeBmp(bytes);
  return Array.from({ length: pixels.length / 4 }, (_, i) => pixels[i * 4]);
};

t.test('BMP images of every depth are decoded', async (t) => {
  for (const [name, bytes, expected] of bitmapCases) t.same(reds(bytes), expected, name);
});

t.test('missing pixels of a truncated BMP are white, and an invalid BMP is rejected', async (t) => {
  const whole = bitmap([1, 2, 24, 0], [], [1, 2, 3, 0, 1, 2, 3, 0]);
  t.same(reds(whole.subarray(0, whole.length - 4)), [255, 3]);
  t.throws(() => decodeBmp(bitmap([0, 2, 24, 0], [], [])), { code: 'corrupt' });
  t.throws(() => decodeBmp(bitmap([1, 1, 7, 0], [], [0])), { code: 'corrupt' });
  t.throws(() => decodeBmp(new Uint8Array(20)), { code: 'corrupt' });
});
