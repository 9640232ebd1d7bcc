import sharp from 'sharp';
import { descendantsOf } from '../crash/child-processes.ts';
import { utf8 } from '../parsing/byte-fixtures.ts';
import { buildDocx } from '../parsing/office-fixtures.ts';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { joinSmallServer } from './small-server.ts';

/** Page images: URLs, sizes, and formats without images. */

t.setTimeout(testFileMsMax);
// The server has one slot, so that a second page is drawn only after the end of the first.
const { server, api } = await joinSmallServer();
const collection_name = 'pages';
await api.call('collections/add-collection', { collection_name });
const { components } = (await (await fetch(`${server.url}/readyz`)).json()) as {
  components: Record<string, { detail: string }>;
};
const office = !components['tool soffice']?.detail.includes('not installed');

async function imagesOf(path: string, bytes: Uint8Array): Promise<(string | null)[]> {
  const base64_data = Buffer.from(bytes).toString('base64');
  const added = await api.add(collection_name, path, { type: 'auto', base64_data });
  t.match(added, { index_status: 'indexed' }, path);
  const { num_pages } = await api.info(collection_name, path);
  const urls: (string | null)[] = [];
  for (let page_index = 0; page_index < (num_pages ?? 0); page_index++) {
    const { page } = await api.call('documents/get-page-info', { collection_name, path, page_index });
    urls.push(page.image_url);
  }
  return urls;
}

async function sizeOf(url: string | null): Promise<{ format?: string; width?: number; height?: number }> {
  const reply = await fetch(url ?? '');
  t.equal(reply.status, 200, String(url));
  const { format, width, height } = await sharp(Buffer.from(await reply.arrayBuffer())).metadata();
  return { format, width, height };
}

// First, because a process that drew a page before would be used again.
await t.test('a disconnected client cancels rendering, and the slot is free for others', async (t) => {
  const imageOf = async (path: string, bytes: Uint8Array) => {
    const content = { type: 'auto', base64_data: Buffer.from(bytes).toString('base64') } as const;
    t.match(await api.add(collection_name, path, content), { index_status: 'indexed' });
    const request = { collection_name, path, page_index: 0 };
    return (await api.call('documents/get-page-info', request)).page.image_url!;
  };
  // Diagonals across the whole page, each blended with all before: minutes of rendering.
  const lines = Buffer.from(`/G gs ${'0 0 m 600 790 l 600 0 l 0 790 l f '.repeat(200_000)}`, 'latin1');
  const resources = '/ExtGState<</G<</ca .5/BM/ColorDodge>>>>';
  const slow = await imageOf('slow.pdf', buildPdf([''], { content: lines, resources }));
  const quick = await imageOf('quick.pdf', buildPdf(['quick']));
  const before = new Set(descendantsOf(server.pid));
  const drawing = () => descendantsOf(server.pid).filter((pid) => !before.has(pid));
  const leaving = new AbortController();
  const left = t.rejects(fetch(slow, { signal: leaving.signal }), { name: 'AbortError' });
  await waitUntil('a rendering process', () => drawing().length > 0);
  const pids = drawing();
  leaving.abort();
  await left;
  // The process is reused for the next page unless it is stopped.
  await waitUntil('the end of the rendering', () => !drawing().some((pid) => pids.includes(pid)));
  t.equal((await fetch(quick)).status, 200);
});

await t.test('page images of a PDF and of an image have the requested sizes', async (t) => {
  const [page, second] = await imagesOf('two.pdf', buildPdf(['first', 'second']));
  t.same(await sizeOf(page!), { format: 'jpeg', width: 935, height: 1_210 });
  t.same(await sizeOf(`${page}&width=200`), { format: 'jpeg', width: 256, height: 331 });
  t.same(await sizeOf(`${second}&width=2000`), { format: 'jpeg', width: 1_545, height: 2_000 });
  const black = { create: { width: 300, height: 100, channels: 3, background: '#000' } } as const;
  const [picture] = await imagesOf('picture.png', await sharp(black).png().toBuffer());
  t.same(await sizeOf(picture!), { format: 'jpeg', width: 300, height: 100 });
  t.same(await sizeOf(`${picture}&width=150`), { format: 'jpeg', width: 256, height: 85 });
  for (const width of ['0', '2001', '-1', '1e2', 'wide']) {
    t.equal((await fetch(`${page}&width=${width}`)).status, 422, width);
  }
});

await t.test('texts have no page images, Office files only where LibreOffice is installed', async (t) => {
  t.same(await imagesOf('note.txt', utf8('just words')), [null]);
  const rtf = utf8(
    '{\\rtf1\\ansi Dear reader,\\par these are the words of a letter.\\page The second page.\\par}',
  );
  const pages = await imagesOf('letter.rtf', rtf);
  t.equal(pages.length, 2);
  t.same(await imagesOf('strange.docx', buildDocx(['LibreOffice does not open this one'])), [null]);
  if (!office) {
    t.same(pages, [null, null]);
    return;
  }
  const sizes = await Promise.all([pages[0], pages[0], pages[1]].map((url) => sizeOf(url!)));
  t.ok(sizes.every(({ format, width = 0 }) => format === 'jpeg' && width > 500));
});

await t.test('a page image is deleted with its document', async (t) => {
  const [page] = await imagesOf('gone.pdf', buildPdf(['soon gone']));
  t.equal((await fetch(page!)).status, 200);
  await api.call('documents/delete-document', { collection_name, path: 'gone.pdf' });
  t.equal((await fetch(page!)).status, 404);
});
