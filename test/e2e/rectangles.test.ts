import { buildBmp } from '../parsing/image-fixtures.ts';
import { column, prose } from '../parsing/pdf/placed-text-fixtures.ts';
import {
  buildPdfWithPlacedText,
  buildScannedPdf,
  type PdfOptions,
  type PlacedText,
} from '../parsing/pdf-fixtures.ts';
import { renderText } from '../parsing/render-text.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import type { CheckedApiClient } from './checked-api-client.ts';
import { contains, type ImageRectangle, PageInk } from './page-ink.ts';
import { joinSharedServer } from './shared-server.ts';
import { createClient } from './tenant.ts';

/** Places of snippets on their page images. */

t.setTimeout(testFileMsMax);
const { server, api, organization_id } = await joinSharedServer();
const collection_name = 'paper';
await api.call('collections/add-collection', { collection_name });

interface PagePlaces {
  readonly page: number;
  readonly rectangles: readonly ImageRectangle[];
}
interface PlacedResult {
  readonly path: string;
  readonly content: string;
  readonly start_index: number;
  readonly page_rectangles?: readonly PagePlaces[];
}

async function add(path: string, bytes: Uint8Array): Promise<void> {
  const content = { type: 'auto', base64_data: Buffer.from(bytes).toString('base64') } as const;
  const added = await api.add(collection_name, path, content, { metadata: { file: path } });
  t.match(added, { index_status: 'indexed', error: null }, path);
}

async function search(path: string, query: string, more: object = {}, client: CheckedApiClient = api) {
  const body = { collection_name, query, k: 20, filter: { file: path }, include_rectangles: true, ...more };
  const { results } = await client.call('queries/top-snippets', body);
  return results as unknown as readonly PlacedResult[];
}

async function readInk(path: string, page_index: number): Promise<PageInk> {
  const { page } = await api.call('documents/get-page-info', { collection_name, path, page_index });
  return PageInk.read(page.image_url!);
}

/** The whole text of a short document is one snippet. Returns its rectangles on a page. */
async function rectanglesOf(path: string, query: string, page = 0): Promise<readonly ImageRectangle[]> {
  const [whole] = await search(path, query);
  return whole?.page_rectangles?.find((one) => one.page === page)?.rectangles ?? [];
}

/** Checks that the rectangles contain all ink of the page, and that none contains ink of another. */
async function checkAllInk(
  t: Test,
  path: string,
  rectangles: readonly ImageRectangle[],
  page = 0,
): Promise<void> {
  const ink = await readInk(path, page);
  t.ok(ink.size > 500, `${ink.size} dark pixels`);
  t.ok(ink.countWithin(rectangles) >= 0.998 * ink.size, `${path}: all words are covered`);
  const sum = rectangles.reduce((all, rectangle) => all + ink.countWithin([rectangle]), 0);
  t.ok(sum <= 1.002 * ink.size, `${path}: no rectangle covers words of another line`);
  for (const rectangle of rectangles) t.ok(ink.countWithin([rectangle]) > 0, 'no rectangle is empty');
}

/** Returns where the image of a page shows a point of it, as fractions. */
function toImagePoint({ x, y }: { x: number; y: number }, options: PdfOptions): readonly [number, number] {
  const [left, bottom, right, top] = options.cropBox ?? options.mediaBox ?? [0, 0, 612, 792];
  const [across, down] = [(x - left) / (right - left), (top - y) / (top - bottom)];
  switch (options.rotate ?? 0) {
    case 90:
      return [1 - down, across];
    case 180:
      return [1 - across, 1 - down];
    case 270:
      return [down, 1 - across];
    default:
      return [across, down];
  }
}

/** Checks that each line of a page has its own rectangle, in the order of the lines. */
async function checkLines(t: Test, path: string, lines: readonly PlacedText[], options: PdfOptions = {}) {
  await add(path, buildPdfWithPlacedText([lines], options));
  const rectangles = await rectanglesOf(path, 'wizards');
  t.equal(rectangles.length, lines.length, path);
  for (const [i, { x, y, size = 11, quarterTurns = 0 }] of lines.entries()) {
    // The middle of the first letter.
    const [along, up] = [0.3 * size, 0.3 * size];
    const offset = [
      [along, up],
      [-up, along],
      [-along, -up],
      [up, -along],
    ][quarterTurns]!;
    const point = toImagePoint({ x: x + offset[0]!, y: y + offset[1]! }, options);
    const found = rectangles.flatMap((rectangle, at) => (contains(rectangle, point) ? [at] : []));
    t.same(found, [i], `${path}: line ${i} at ${point}`);
  }
  await checkAllInk(t, path, rectangles);
  return rectangles;
}

const lines = column(prose('L', 9, 60), 72, 700);

await t.test('each line of a page has its rectangle, on a page that is rotated or cropped', async (t) => {
  await checkLines(t, 'plain.pdf', lines);
  for (const rotate of [90, 180, 270]) await checkLines(t, `rotated-${rotate}.pdf`, lines, { rotate });
  const cropBox = [60, 580, 460, 730] as const;
  await checkLines(t, 'cropped.pdf', lines, { cropBox });
  await checkLines(t, 'cropped-rotated.pdf', lines, { cropBox, rotate: 90 });
  await checkLines(
    t,
    'moved.pdf',
    lines.map((line) => ({ ...line, x: line.x - 500, y: line.y + 300 })),
    {
      mediaBox: [-500, 300, 112, 1_092],
    },
  );
});

await t.test('turned text, columns and cells have rectangles that do not cross', async (t) => {
  const turned = prose('T', 6, 50).map((text, i) => ({
    text,
    x: 100 + 20 * i,
    y: 200,
    quarterTurns: 1 as const,
  }));
  await checkLines(t, 'turned.pdf', turned);
  const columns = [...column(prose('A', 8, 38), 50, 700), ...column(prose('B', 8, 38), 330, 704)];
  await checkLines(t, 'columns.pdf', columns);
  const cells = ['Wizards', 'Herring', 'Salmon', 'Trout'].flatMap((name, row) =>
    [name, String(17 + row), 'barrels'].map((text, at) => ({ text, x: 72 + 150 * at, y: 700 - 18 * row })),
  );
  await checkLines(t, 'table.pdf', cells);
});

await t.test(
  'a snippet has the lines of its text only, also after words and headers were changed',
  async (t) => {
    const header = { text: 'Report of the harbor 2026', x: 200, y: 760, size: 9 };
    const pages = Array.from({ length: 5 }, (_, page) => [
      header,
      { text: `Chapter of page ${page}`, x: 72, y: 720, size: 20, bold: true },
      ...column(
        prose(`P${page}x`, 12, 60).map((line, i) =>
          i % 3 === 1 ? `${line} her-` : i % 3 === 2 ? `ring ${line}` : line,
        ),
        72,
        690,
      ),
    ]);
    await add('report.pdf', buildPdfWithPlacedText(pages));
    const snippets = await search('report.pdf', 'wizards of the report', { precise_responses: true, k: 60 });
    t.ok(snippets.length >= 15, `${snippets.length} snippets`);
    for (const { content, page_rectangles = [] } of snippets) {
      t.notMatch(content, /harbor/, 'the header was removed');
      for (const { page, rectangles } of page_rectangles) {
        // Each word of the snippet tells its line: P<page>x<line>; continuations belong to the line after.
        const marks = [...content.matchAll(/P(\d)x(\d+)/g)].filter((mark) => Number(mark[1]) === page);
        for (const [, , number] of marks) {
          const { x, y } = pages[page]![Number(number) + 1]!;
          const point = toImagePoint({ x: x + (Number(number) % 3 === 0 ? 40 : 4), y: y + 4 }, {});
          t.ok(
            rectangles.some((one) => contains(one, point)),
            `P${page}x${number}`,
          );
        }
        // A snippet may have a part of the line before or after those whose mark it has.
        const numbers = marks.map(([, , number]) => Number(number));
        for (let number = 1; number <= 12; number++) {
          if (numbers.some((other) => Math.abs(other - number) < 2)) continue;
          const { x, y } = pages[page]![number + 1]!;
          t.notOk(
            rectangles.some((one) => contains(one, toImagePoint({ x: x + 40, y: y + 4 }, {}))),
            `no P${page}x${number}`,
          );
        }
        t.ok((await readInk('report.pdf', page)).countWithin(rectangles) > 200);
      }
    }
    t.same(
      [...new Set(snippets.flatMap((one) => one.page_rectangles!.map(({ page }) => page)))].sort(),
      [0, 1, 2, 3, 4],
    );
  },
);

await t.test('scans and images have the rectangles of the recognized lines', async (t) => {
  const words = [
    'The granite quarry near the river',
    'was opened in eighteen hundred and four',
    'by wizards of the town.',
  ];
  await add(
    'scan.pdf',
    buildScannedPdf([await renderText('Another page'), await renderText(words.join('\n'), 200)]),
  );
  const scanned = await rectanglesOf('scan.pdf', 'granite quarry', 1);
  t.equal(scanned.length, words.length);
  await checkAllInk(t, 'scan.pdf', scanned, 1);
  await add('photo.bmp', Buffer.from(buildBmp(await renderText(words.join('\n'), 200))));
  const photo = await rectanglesOf('photo.bmp', 'granite quarry');
  t.equal(photo.length, words.length);
  await checkAllInk(t, 'photo.bmp', photo);
  const heights = photo.map(({ height }) => height);
  t.ok(Math.max(...heights) < 0.03, `12 points of 792: ${heights}`);
});

await t.test('pages with highlights have the rectangles of the lines with a match', async (t) => {
  const body = { collection_name, query: 'L4', k: 1, filter: { file: 'plain.pdf' }, include_content: true };
  const extra = { highlights: true, include_rectangles: true };
  const { results } = await api.call('queries/top-pages', { ...body, ...extra });
  const [page] = results as unknown as readonly PlacedResult[];
  const all = await rectanglesOf('plain.pdf', 'wizards');
  t.same(page?.page_rectangles, [{ page: 0, rectangles: [all[3]] }]);
  const { status, body: error } = await api.request('queries/top-pages', {
    ...body,
    include_rectangles: true,
  });
  t.equal(status, 400);
  t.match(error, { detail: /include_rectangles requires highlights/ });
});

await t.test('without the option replies are the same, and texts have no rectangles', async (t) => {
  const metadata = { file: 'note.txt' };
  await api.add(collection_name, 'note.txt', 'The wizards have a note.', { metadata });
  t.same((await search('note.txt', 'wizards'))[0]?.page_rectangles, []);
  for (const more of [{}, { precise_responses: true }]) {
    const body = { collection_name, query: 'wizards', k: 20, ...more };
    const plain = await api.call('queries/top-snippets', body);
    const off = await api.call('queries/top-snippets', { ...body, include_rectangles: false });
    const { results } = await api.call('queries/top-snippets', { ...body, include_rectangles: true });
    t.same(off, plain);
    t.notOk(plain.results.some((result) => 'page_rectangles' in result));
    const stripped = (results as unknown as readonly PlacedResult[]).map(
      ({ page_rectangles: _, ...rest }) => rest,
    );
    t.same(stripped, plain.results, 'all other fields are the same');
  }
});

await t.test(
  'rectangles follow the document: copies have them, deleted and hidden documents do not',
  async (t) => {
    const expected = await rectanglesOf('plain.pdf', 'wizards');
    await api.call('collections/clone-collection', { collection_name, new_collection_name: 'copy' });
    const searchCopy = () => search('plain.pdf', 'wizards', { collection_name: 'copy' });
    await waitUntil('the copy is searchable', async () => (await searchCopy()).length > 0);
    const copied = await searchCopy();
    t.same(copied[0]?.page_rectangles, [{ page: 0, rectangles: expected }]);
    const restricted = await createClient(server, organization_id, {
      restriction: { collection_names: [collection_name], filter: { file: 'columns.pdf' } },
    });
    t.same(await search('plain.pdf', 'wizards', {}, restricted), []);
    t.ok(
      (await search('columns.pdf', 'wizards', {}, restricted))[0]?.page_rectangles?.[0]?.rectangles.length,
    );
    await add('again.pdf', buildPdfWithPlacedText([lines]));
    const other = { type: 'text', text: 'No wizards, only text.' } as const;
    await api.add(collection_name, 'again.pdf', other, { overwrite: true, metadata: { file: 'again.pdf' } });
    t.same((await search('again.pdf', 'wizards'))[0]?.page_rectangles, [], 'the new content has no lines');
  },
);
