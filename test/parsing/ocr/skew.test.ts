import sharp from 'sharp';
import { defaultParseLimits } from '../../../src/parsing/limits.ts';
import { type GrayPixels, measureSkew } from '../../../src/parsing/ocr/skew.ts';
import { parseDocument } from '../../../src/parsing/parse.ts';
import t from '../../support/tap.ts';
import { renderText } from '../render-text.ts';

const lines = Array.from(
  { length: 24 },
  (_, i) => `Line ${i + 1} of a page that went through a scanner askew.`,
);
const page = await renderText(lines.join('\n'), 90);
const paper = '#ffffff';

async function rotate({ width, height, pixels }: GrayPixels, degrees: number): Promise<GrayPixels> {
  const { data, info } = await sharp(pixels, { raw: { width, height, channels: 1 } })
    .rotate(degrees, { background: paper })
    .toColourspace('b-w')
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, pixels: data };
}

for (const degrees of [0, 0.2, 1, -1, 2.5, -4, 7, -10]) {
  t.test(`a page rotated by ${degrees} degrees is detected`, async (t) => {
    const expectedDegrees = Math.abs(degrees) < 0.5 ? 0 : degrees;
    for (const side of [0, 90, 180, 270]) {
      const found = measureSkew(await rotate(await rotate(page, side), degrees));
      t.ok(Math.abs(found - expectedDegrees) <= 0.3, `${found}, turned by ${side}`);
    }
  });
}

t.test('an image without lines is not rotated', (t) => {
  const [width, height] = [400, 300];
  const gray = (of: (i: number) => number) => ({
    width,
    height,
    pixels: Uint8Array.from({ length: width * height }, (_, i) => of(i)),
  });
  let seed = 1;
  const noise = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed & 255;
  };
  t.equal(measureSkew(gray(noise)), 0, 'noise');
  t.equal(measureSkew(gray(() => 255)), 0, 'an empty page');
  t.equal(measureSkew(gray((i) => (i % width) / 2)), 0, 'shading');
  t.equal(measureSkew({ width: 1, height: 1, pixels: new Uint8Array(1) }), 0, 'one pixel');
  t.end();
});

t.test('the engine gets a deskewed page', async (t) => {
  const { width, height, pixels } = await rotate(page, 5);
  const bytes = await sharp(pixels, { raw: { width, height, channels: 1 } })
    .png()
    .toBuffer();
  const shownImages: Uint8Array[] = [];
  const stream = parseDocument(bytes, null, defaultParseLimits, {
    request: async (toolRequest) => {
      if (toolRequest.kind === 'recognize') shownImages.push(toolRequest.image);
      return { kind: 'text', text: 'read', confidence: 90 };
    },
    reportProgress: () => {},
  });
  while ((await stream.next()).done !== true);
  t.equal(shownImages.length, 1);
  const image = await sharp(shownImages[0])
    .resize({ width: 900 })
    .toColourspace('b-w')
    .raw()
    .toBuffer({ resolveWithObject: true });
  t.equal(measureSkew({ width: image.info.width, height: image.info.height, pixels: image.data }), 0);
});
