import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { systemChance } from '../../src/base/ids.ts';
import { DerivedFiles } from '../../src/pipeline/derived-files.ts';
import { PageImages, pageImageWidths } from '../../src/pipeline/page-images.ts';

const hash = (letter: string) => letter.repeat(64);

function setup(t: { teardown: (clean: () => void) => void }) {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-images-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const drawn: string[] = [];
  const gone = new Set<string>();
  const open = async (bytesMax: number) => {
    const files = await DerivedFiles.open({
      blobs: { size: async (name) => (gone.has(name) ? null : 1) },
      folder: join(folder, 'pages'),
      bytesMax,
      chance: systemChance,
    });
    const run = async <Result>(task: object) => {
      const { file, page, widthMax } = task as { file: string; page: number; widthMax?: number };
      drawn.push(`${file[0]}${page}${widthMax === undefined ? '' : ` ${widthMax}`}`);
      return (page > 8 ? null : new Uint8Array(100).fill(page)) as Result;
    };
    return new PageImages({ pool: { run }, blobs: { path: (name) => name }, files });
  };
  return { open, drawn, gone, files: () => readdirSync(join(folder, 'pages')), folder };
}

t.test('a page is drawn once however many ask, and again only after it had to make room', async (t) => {
  const { open, drawn, files } = setup(t);
  const images = await open(250);
  const asked = await Promise.all([1, 1, 1].map((page) => images.get(hash('a'), page)));
  t.same(asked[2], new Uint8Array(100).fill(1));
  t.same(drawn, ['a1']);
  await images.get(hash('a'), 2);
  await images.get(hash('a'), 1);
  await images.get(hash('b'), 3);
  t.equal(files().length, 2, 'the bound holds');
  await images.get(hash('a'), 1);
  t.same(drawn, ['a1', 'a2', 'b3'], 'what was used last is kept');
  await images.get(hash('a'), 2);
  t.same(drawn, ['a1', 'a2', 'b3', 'a2']);
});

t.test('a page that cannot be drawn has no image, and nothing is kept of it', async (t) => {
  const { open, files } = setup(t);
  const images = await open(1_000);
  t.equal(await images.get(hash('a'), 9), null);
  t.same(files(), []);
});

t.test('after a restart images are still there, but none of deleted files and no halves', async (t) => {
  const { open, drawn, gone, files, folder } = setup(t);
  const first = await open(1_000);
  await first.get(hash('a'), 1);
  await first.get(hash('b'), 1);
  writeFileSync(join(folder, 'pages', 'x.part'), 'half an image');
  gone.add(hash('b'));
  const second = await open(1_000);
  t.same(files(), [`${hash('a')}-1.jpg`]);
  await second.get(hash('a'), 1);
  t.same(drawn, ['a1', 'b1']);
});

t.test('an image that somebody removed from the disk is drawn again', async (t) => {
  const { open, drawn, folder } = setup(t);
  const images = await open(1_000);
  await images.get(hash('a'), 1);
  rmSync(join(folder, 'pages', `${hash('a')}-1.jpg`));
  t.same(await images.get(hash('a'), 1), new Uint8Array(100).fill(1));
  t.same(drawn, ['a1', 'a1']);
});

t.test('whatever widths are asked for, a page is drawn in a few of them only', async (t) => {
  const { open, drawn } = setup(t);
  const images = await open(100_000);
  for (let width = 1; width < 3_000; width += 7) await images.get(hash('a'), 1, width);
  t.equal(drawn.length, pageImageWidths.length);
  await images.get(hash('a'), 1, 300);
  await images.get(hash('a'), 1);
  t.same(drawn.slice(0, 3), ['a1 128', 'a1 256', 'a1 384']);
  t.equal(drawn.at(-1), 'a1', 'the usual size is one of its own');
});
