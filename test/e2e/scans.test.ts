import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { buildBmp, type GrayscaleImage } from '../parsing/image-fixtures.ts';
import { buildScannedPdf } from '../parsing/pdf-fixtures.ts';
import { renderText } from '../parsing/render-text.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { TestServer } from './server.ts';

/** Scanned and photographed paper, on a server without installed tools. */

t.setTimeout(testFileMsMax);
const receipt = [
  'A receipt for seven sacks of lime',
  'and one barrel of tar, paid for at',
  'the harbour by the master of works',
].join('\n');
const scans = buildScannedPdf([
  await renderText('The granite quarry near the river\nwas opened in eighteen hundred and four.'),
  await renderText('Its stones went into the harbour walls\nof three towns on the northern coast.'),
]);

/** Scan of a page that was fed at an angle. */
async function rotatedScan(
  { width, height, pixels }: GrayscaleImage,
  degrees: number,
): Promise<GrayscaleImage> {
  const { data, info } = await sharp(pixels, { raw: { width, height, channels: 1 } })
    .rotate(degrees, { background: '#ffffff' })
    .toColourspace('b-w')
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, pixels: data };
}

/** Fields that Quarry adds to the published replies. */
interface ProgressReply {
  readonly stage: string;
  readonly num_pages_done: number;
  readonly num_pages: number | null;
}
type ScannedDocument = { readonly index_status: string; readonly progress?: ProgressReply };
type StatusCounts = { readonly num_documents: number; readonly parsing_documents?: readonly ProgressReply[] };

/** Adds the scan, and waits until it is indexed. Returns the progress that was visible meanwhile: `1 of 2` pages. */
async function addAndWatch(t: Test, api: CheckedApiClient, collection_name: string): Promise<Set<string>> {
  const content = { type: 'auto', base64_data: Buffer.from(scans).toString('base64') };
  await api.call('documents/add-document', { collection_name, path: 'scan.pdf', content });
  const seenStages = new Set<string>();
  let status = '';
  while (status !== 'indexed') {
    const document: ScannedDocument = await api.info(collection_name, 'scan.pdf');
    const counts: StatusCounts = await api.call('status/get-status', { collection_name });
    for (const one of [document.progress, ...(counts.parsing_documents ?? [])])
      if (one?.stage === 'recognising') seenStages.add(`${one.num_pages_done} of ${one.num_pages}`);
    status = document.index_status;
    t.notMatch(status, /failed/);
    await sleep(20);
  }
  return seenStages;
}

await t.test('a scanned PDF and a skewed page are searchable with the embedded engine', async (t) => {
  // English data under another name substitutes for another language.
  const english = createRequire(import.meta.url).resolve(
    '@tesseract.js-data/eng/4.0.0_best_int/eng.traineddata.gz',
  );
  const folder = t.testdir({ 'tst.traineddata.gz': readFileSync(english) });
  const languages = { OCR_LANGUAGES: 'eng+tst', OCR_DATA_FOLDER: folder };
  const server = await TestServer.start(t, { OCR_ENGINE: 'embedded', ...languages });
  const api = new CheckedApiClient(server);
  const collection_name = 'scans';
  await api.call('collections/add-collection', { collection_name });
  await t.test('OCR reports its progress on the document', async (t) => {
    const seenStages = await addAndWatch(t, api, collection_name);
    t.ok(seenStages.has('0 of 2') || seenStages.has('1 of 2'), [...seenStages].join());
    const scan = await api.info(collection_name, 'scan.pdf');
    t.match(scan, { error: null });
    t.notOk('progress' in scan, 'no progress after completion');
  });
  const photo = Buffer.from(buildBmp(await rotatedScan(await renderText(receipt), 6))).toString('base64');
  const added = await api.add(collection_name, 'photo.bmp', { type: 'auto', base64_data: photo });
  t.match(added, { index_status: 'indexed', error: null });
  const found = await api.call('queries/top-pages', {
    collection_name,
    query: 'stones of the harbour walls',
    k: 1,
    include_content: true,
  });
  t.match(found.results, [{ path: 'scan.pdf', page_index: 1, content: /harbour walls\nof three towns/ }]);
  const lime = await api.call('queries/top-snippets', { collection_name, query: 'sacks of lime', k: 1 });
  t.match(lime.results, [{ path: 'photo.bmp', content: /seven sacks of lime\nand one barrel of tar/ }]);
  const ready = (await (await fetch(`${server.url}/readyz`)).json()) as { components: object };
  t.match(ready.components, {
    ocr: { ready: true, detail: /embedded.*eng\+tst/ },
    'tool soffice': { ready: true },
  });
});

await t.test(
  'with OCR disabled a scan is indexed without text, and an unknown language stops the start',
  async (t) => {
    const server = await TestServer.start(t, { OCR_ENGINE: 'off' });
    const api = new CheckedApiClient(server);
    const collection_name = 'scans';
    await api.call('collections/add-collection', { collection_name });
    const base64_data = Buffer.from(scans).toString('base64');
    const added = await api.add(collection_name, 'scan.pdf', { type: 'auto', base64_data });
    t.match(added, { index_status: 'indexed', error: null });
    await t.rejects(server.restart({ OCR_ENGINE: 'embedded', OCR_LANGUAGES: 'eng+none' }));
    t.match(
      server.log,
      /QUARRY_OCR_LANGUAGES is eng\+none, but the embedded engine lacks none \(npm install @tesseract\.js-data\/none/,
    );
  },
);
