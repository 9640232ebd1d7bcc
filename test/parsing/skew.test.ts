import sharp from 'sharp';
import t from 'tap';
import { defaultParseLimits } from '../../src/parsing/limits.ts';
import { parseDocument } from '../../src/parsing/parse.ts';
import { type GreyPixels, skewOf } from '../../src/parsing/skew.ts';
import { pictureOf } from './pictures.ts';

const lines = Array.from(
  { length: 24 },
  (_, i) => `Line ${i + 1} of a page that went through a scanner askew.`,
);
const page = await pictureOf(lines.join('\n'), 90);
const paper = '#ffffff';

async function turned({ width, height, pixels }: GreyPixels, degrees: number): Promise<GreyPixels> {
  const { data, info } = await sharp(pixels, { raw: { width, height, channels: 1 } })
    .rotate(degrees, { background: paper })
    .toColourspace('b-w')
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, pixels: data };
}

for (const degrees of [0, 0.2, 1, -1, 2.5, -4, 7, -10]) {
  t.test(`a page that lies ${degrees} degrees askew is seen to`, async (t) => {
    const wanted = Math.abs(degrees) < 0.5 ? 0 : degrees;
    for (const side of [0, 90, 180, 270]) {
      const found = skewOf(await turned(await turned(page, side), degrees));
      t.ok(Math.abs(found - wanted) <= 0.3, `${found}, turned by ${side}`);
    }
  });
}

t.test('what has no lines is not turned', (t) => {
  const [width, height] = [400, 300];
  const grey = (of: (i: number) => number) => ({
    ...{ width, height },
    pixels: Uint8Array.from({ length: width * height }, (_, i) => of(i)),
  });
  let seed = 1;
  const noise = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed & 255;
  };
  t.equal(skewOf(grey(noise)), 0, 'noise');
  t.equal(skewOf(grey(() => 255)), 0, 'an empty page');
  t.equal(skewOf(grey((i) => (i % width) / 2)), 0, 'shading');
  t.equal(skewOf({ width: 1, height: 1, pixels: new Uint8Array(1) }), 0, 'one pixel');
  t.end();
});

t.test('the engine is shown a straight page', async (t) => {
  const { width, height, pixels } = await turned(page, 5);
  const bytes = await sharp(pixels, { raw: { width, height, channels: 1 } })
    .png()
    .toBuffer();
  const shown: Uint8Array[] = [];
  const stream = parseDocument(bytes, null, defaultParseLimits, {
    ask: async (need) => {
      if (need.kind === 'recognise') shown.push(need.image);
      return { kind: 'text', text: 'read', confidence: 90 };
    },
    tell: () => {},
  });
  while ((await stream.next()).done !== true);
  t.equal(shown.length, 1);
  const image = await sharp(shown[0])
    .resize({ width: 900 })
    .toColourspace('b-w')
    .raw()
    .toBuffer({ resolveWithObject: true });
  t.equal(skewOf({ width: image.info.width, height: image.info.height, pixels: image.data }), 0);
});
