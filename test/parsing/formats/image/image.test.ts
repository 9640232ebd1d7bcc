import sharp from 'sharp';
import { defaultParseLimits, type ParseLimits } from '../../../../src/parsing/limits.ts';
import { renderPageImage } from '../../../../src/parsing/page-image.ts';
import { parseDocument } from '../../../../src/parsing/parse.ts';
import { ParseFailure } from '../../../../src/parsing/parse-failure.ts';
import type {
  DocumentTools,
  ParserToolRequest,
  ToolReply,
} from '../../../../src/parsing/tools/document-tools.ts';
import t from '../../../support/tap.ts';
import { buildBmp } from '../../image-fixtures.ts';
import { buildPdf, buildScannedPdf } from '../../pdf-fixtures.ts';
import { renderText } from '../../render-text.ts';

/** OCR engine with replies from the test that records the images it receives. */
function fakeOcrEngine(
  answer: (attempt: number) => ToolReply,
): DocumentTools & { readonly shownImages: Uint8Array[] } {
  const shownImages: Uint8Array[] = [];
  return {
    shownImages,
    request: async (toolRequest: ParserToolRequest) => {
      if (toolRequest.kind !== 'recognize')
        return { kind: 'missing', message: 'heif-convert is not installed on this server.' };
      shownImages.push(toolRequest.image);
      return answer(shownImages.length);
    },
    reportProgress: () => {},
  };
}

const sure = (text: string): ToolReply => ({ kind: 'text', text, confidence: 90 });

async function read(bytes: Uint8Array, tools: DocumentTools, limits: Partial<ParseLimits> = {}) {
  const pages: string[] = [];
  const stream = parseDocument(bytes, null, { ...defaultParseLimits, ...limits }, tools);
  for (;;) {
    const step = await stream.next();
    if (step.done === true) return { pages, ...step.value };
    pages.push(step.value.text);
  }
}

const red = { r: 200, g: 30, b: 30 };
const blank = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: red } });

t.test('each kind of image is one page with its OCR text', async (t) => {
  const picture = blank(300, 200);
  const cmyk = await picture.clone().toColourspace('cmyk').jpeg().toBuffer();
  const images: [string, Uint8Array][] = [
    ['png', await picture.clone().png().toBuffer()],
    ['jpeg', await picture.clone().jpeg().toBuffer()],
    ['jpeg', cmyk],
    ['webp', await picture.clone().webp().toBuffer()],
    ['gif', await picture.clone().gif().toBuffer()],
    ['tiff', await picture.clone().tiff().toBuffer()],
    ['bmp', buildBmp({ width: 5, height: 3, pixels: new Uint8Array(15).fill(9) })],
  ];
  for (const [kind, bytes] of images) {
    const tools = fakeOcrEngine(() => sure(`words in ${kind}`));
    t.match(await read(bytes, tools), { kind, pages: [`words in ${kind}`], warnings: [] }, kind);
    t.equal((await sharp(tools.shownImages[0]).metadata()).format, 'png');
  }
});

t.test('all pages of a TIFF and only the first frame of an animation are read', async (t) => {
  const frames = Buffer.concat([0, 120, 240].map((gray) => Buffer.alloc(40 * 40 * 3, gray)));
  const raw = { width: 40, height: 120, channels: 3, pageHeight: 40 } as const;
  const gif = await sharp(frames, { raw }).gif().toBuffer();
  const read1 = await read(
    gif,
    fakeOcrEngine((attempt) => sure(`frame ${attempt}`)),
  );
  t.same(read1.pages, ['frame 1']);
  t.match(read1.warnings, [/first frame/]);
  const tiff = await read(
    twoPageTiff(),
    fakeOcrEngine((attempt) => sure(`page ${attempt}`)),
  );
  t.same(tiff.pages, ['page 1', 'page 2']);
});

/** TIFF with two grayscale pages of 8 by 8 pixels. */
function twoPageTiff(): Uint8Array {
  const page = (at: number, next: number) => {
    const pixels = at + 2 + 8 * 12 + 4;
    const entries = [
      [256, 3, 8],
      [257, 3, 8],
      [258, 3, 8],
      [259, 3, 1],
      [262, 3, 1],
      [273, 4, pixels],
      [278, 3, 8],
      [279, 4, 64],
    ];
    const head = Buffer.alloc(2 + entries.length * 12 + 4);
    head.writeUInt16LE(entries.length, 0);
    entries.forEach(([tag, type, value], i) => {
      const entry = 2 + i * 12;
      head.writeUInt16LE(tag!, entry);
      head.writeUInt16LE(type!, entry + 2);
      head.writeUInt32LE(1, entry + 4);
      if (type === 3) head.writeUInt16LE(value!, entry + 8);
      else head.writeUInt32LE(value!, entry + 8);
    });
    head.writeUInt32LE(next, head.length - 4);
    return Buffer.concat([head, Buffer.alloc(64, 128)]);
  };
  const header = Buffer.from('II*\0\x08\0\0\0', 'latin1');
  const second = 8 + page(8, 0).length;
  return Buffer.concat([header, page(8, second), page(second, 0)]);
}

t.test('EXIF orientation is applied for OCR and for page images', async (t) => {
  const bytes = await blank(400, 100).withMetadata({ orientation: 6 }).jpeg().toBuffer();
  const tools = fakeOcrEngine(() => sure('upright'));
  await read(bytes, tools);
  const shownImages = await sharp(tools.shownImages[0]).metadata();
  t.ok(shownImages.height > shownImages.width);
  const size = { widthMax: 2_000, dotsPerInch: 110, quality: 78 };
  const image = await renderPageImage(bytes, 0, size, { limits: defaultParseLimits, tools });
  t.match(await sharp(image ?? new Uint8Array()).metadata(), { format: 'jpeg', width: 100, height: 400 });
});

t.test(
  'damaged and oversized images are rejected with the reason, and a truncated one is read as far as it goes',
  async (t) => {
    const png = await blank(300, 200).png().toBuffer();
    const vast = Buffer.from(png);
    vast.writeUInt32BE(60_000, 16);
    vast.writeUInt32BE(60_000, 20);
    const tools = fakeOcrEngine(() => sure('read'));
    const unreadableImages: [Uint8Array, string, RegExp][] = [
      [vast, 'too_large', /60000 x 60000 pixels/],
      [png.subarray(0, 20), 'corrupt', /damaged/],
      [Buffer.from('ffd8ffe0', 'hex'), 'corrupt', /JPEG image is damaged/],
      [buildBmp({ width: 5, height: 3, pixels: new Uint8Array(15) }).subarray(0, 40), 'corrupt', /BMP/],
      [Buffer.from('0000001866747970686569630000000068656963', 'hex'), 'missing_tool', /heif-convert/],
    ];
    for (const [bytes, code, words] of unreadableImages) {
      const failure = await read(bytes, tools).catch((error: unknown) => error);
      t.ok(failure instanceof ParseFailure, String(failure));
      t.match(failure, { code, message: words });
    }
    const jpeg = await blank(300, 200).jpeg().toBuffer();
    t.same((await read(jpeg.subarray(0, jpeg.length - 40), tools)).pages, ['read']);
  },
);

t.test(
  'transparent images get a black background for light text and a white one for dark text',
  async (t) => {
    for (const [gray, paper] of [
      [250, 0],
      [20, 255],
    ] as const) {
      const letters = Buffer.from(
        Array.from({ length: 4 * 900 }, (_, i) => (i % 4 < 3 ? gray : i % 40 === 3 ? 255 : 0)),
      );
      const png = await sharp(letters, { raw: { width: 30, height: 30, channels: 4 } })
        .png()
        .toBuffer();
      const tools = fakeOcrEngine(() => sure('seen'));
      await read(png, tools);
      const { channels } = await sharp(tools.shownImages[0]).stats();
      t.ok(Math.abs(channels[0]!.mean - paper) < 80, `letters of ${gray} on ${channels[0]!.mean}`);
      const size = { widthMax: 2_000, dotsPerInch: 110, quality: 78 };
      const image = await renderPageImage(png, 0, size, { limits: defaultParseLimits, tools });
      const shownImages = await sharp(image ?? new Uint8Array()).stats();
      t.ok(Math.abs(shownImages.channels[0]!.mean - paper) < 80);
    }
  },
);

t.test(
  'without an OCR engine an image is an empty page with a warning that names the missing tool',
  async (t) => {
    const png = await blank(30, 20).png().toBuffer();
    const tools = fakeOcrEngine(() => ({ kind: 'missing', message: 'OCR is disabled.' }));
    const { pages, warnings } = await read(png, tools);
    t.same(pages, ['']);
    t.match(warnings, [/not read: 1\. OCR is disabled/]);
  },
);

t.test('only PDF pages without usable text are read by OCR', async (t) => {
  const scan = await renderText('scanned words', 40);
  const tools = fakeOcrEngine((attempt) => sure(`recognized ${attempt}`));
  t.same((await read(buildScannedPdf([scan, scan]), tools)).pages, ['recognized 1', 'recognized 2']);
  t.equal((await sharp(tools.shownImages[0]).metadata()).width, 1_700, '200 dpi');
  const plain = fakeOcrEngine(() => sure('never'));
  t.same((await read(buildPdf(['7', '']), plain)).pages, ['7', '']);
  t.equal(plain.shownImages.length, 0, 'a page with few words and no picture is not read by OCR');
});

t.test('a page without readable text is read again upside down', async (t) => {
  const scan = buildScannedPdf([await renderText('words', 40)]);
  const turned = fakeOcrEngine((attempt) =>
    attempt === 2 ? sure('words') : { kind: 'text', text: 'spɹoʍ', confidence: 35 },
  );
  t.same((await read(scan, turned)).pages, ['words']);
  const picture = fakeOcrEngine(() => ({ kind: 'text', text: '', confidence: 0 }));
  t.same((await read(scan, picture)).pages, ['']);
  t.equal(picture.shownImages.length, 1, 'a picture without words is read once');
  const foreign = await read(
    scan,
    fakeOcrEngine(() => ({ kind: 'text', text: '', confidence: 20 })),
  );
  t.match(foreign.warnings.at(-1), /OCR found no readable words .*: 1\. .* language/);
  for (const [confidence, warnings] of [
    [59, [/OCR confidence is low on these pages: 1\. .* language/]],
    [60, []],
  ] as const) {
    const hard = await read(
      scan,
      fakeOcrEngine(() => ({ kind: 'text', text: 'w0rds', confidence })),
    );
    t.match(hard, { pages: ['w0rds'], warnings }, `${confidence}`);
    t.equal(hard.warnings.length, warnings.length);
  }
});

t.test('when an OCR budget ends, completed pages are kept, and a warning names the others', async (t) => {
  const scan = await renderText('words', 40);
  const pdf = buildScannedPdf([scan, scan, scan]);
  const pages = await read(
    pdf,
    fakeOcrEngine(() => sure('done')),
    { ocrPagesMax: 2 },
  );
  t.same(pages.pages, ['done', 'done', '']);
  t.ok(pages.warnings.some((warning) => /not read: 3\. The limit of 2 OCR pages/.test(warning)));
  const time = await read(
    pdf,
    fakeOcrEngine(() => sure('done')),
    { ocrMsMax: 0 },
  );
  t.ok(time.warnings.some((warning) => /not read: 1-3\. The OCR time limit/.test(warning)));
  const failing = fakeOcrEngine((attempt) =>
    attempt === 2 ? { kind: 'failed', code: 'timeout', message: 'It took more than 60 s.' } : sure('done'),
  );
  const one = await read(pdf, failing);
  t.same(one.pages, ['done', '', 'done']);
  t.ok(one.warnings.some((warning) => /not read: 2\. It took more/.test(warning)));
});
