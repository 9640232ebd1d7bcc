import { hasPageImages, isFailedOutcome } from '../../src/parsing/process/parse-task.ts';
import t from '../support/tap.ts';
import { buildDocx } from './office-fixtures.ts';
import { checkProcessesEnded, createHost, entryFiles, writeFile } from './parser-host-fixtures.ts';
import { buildPdf } from './pdf-fixtures.ts';

t.test('a PDF page is rendered as JPEG within the size limit for every page box', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const { default: sharp } = await import('sharp');
  const sizeOf = async (bytes: Uint8Array, options: { widthMax?: number } = {}) => {
    const image = await host.render({ kind: 'render', file: writeFile(bytes), page: 0, ...options });
    if (image === null || isFailedOutcome(image)) throw new Error('no image');
    const { format, width, height } = await sharp(image).metadata();
    return { format, width, height };
  };
  t.same(await sizeOf(buildPdf(['text'])), { format: 'jpeg', width: 935, height: 1_210 });
  t.same(await sizeOf(buildPdf(['text']), { widthMax: 306 }), {
    format: 'jpeg',
    width: 306,
    height: 396,
  });
  const vast = await sizeOf(buildPdf(['text'], { mediaBox: [0, 0, 14_000, 14_000] }));
  t.ok(vast.width <= 2_000 && vast.height <= 2_000);
});

t.test('a page image shows the content of the page', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const { default: sharp } = await import('sharp');
  const content = Buffer.from('1 0 0 rg 0 396 612 396 re f 0 0 1 rg 0 0 612 396 re f');
  const image = await host.render({ kind: 'render', file: writeFile(buildPdf([''], { content })), page: 0 });
  if (image === null || isFailedOutcome(image)) throw new Error('no image');
  const { data, info } = await sharp(image).raw().toBuffer({ resolveWithObject: true });
  const pixel = (y: number) => [...data.subarray((y * info.width + 400) * 3, (y * info.width + 400) * 3 + 3)];
  const [red, blue] = [pixel(100), pixel(info.height - 100)];
  t.ok(red[0]! > 240 && red[2]! < 15, `red above: ${red}`);
  t.ok(blue[2]! > 240 && blue[0]! < 15, `blue below: ${blue}`);
});

t.test('rendering a kind without page images returns null', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const pdf = writeFile(buildPdf(['one']));
  t.equal(await host.render({ kind: 'render', file: pdf, page: 1 }), null);
  t.equal(await host.render({ kind: 'render', file: pdf, page: -1 }), null);
  t.equal(await host.render({ kind: 'render', file: writeFile(buildDocx(['x'])), page: 0 }), null);
  t.same(
    [hasPageImages('always', false), hasPageImages('with-office', false), hasPageImages('with-office', true)],
    [true, false, true],
  );
  t.notOk(hasPageImages('never', true));
});

t.test('every started process has ended', (t) => checkProcessesEnded(t, 2));
