import t from 'tap';
import { bmp, scannedPdf } from '../parsing/fixtures.ts';
import { pictureOf } from '../parsing/pictures.ts';
import { Api } from './api.ts';
import { TestServer } from './server.ts';

/** Paper that went through a scanner or a camera, on a server where nothing is installed. */

t.setTimeout(180_000);
const scans = scannedPdf([
  await pictureOf('The granite quarry near the river\nwas opened in eighteen hundred and four.'),
  await pictureOf('Its stones went into the harbour walls\nof three towns on the northern coast.'),
]);

await t.test('a scanned PDF and a photographed page are searchable with the embedded engine', async (t) => {
  const server = await TestServer.start(t, { OCR_ENGINE: 'embedded' });
  const api = new Api(server);
  const collection_name = 'scans';
  await api.call('collections/add-collection', { collection_name });
  for (const [path, bytes] of [
    ['scan.pdf', scans],
    ['photo.bmp', bmp(await pictureOf('A receipt for seven sacks of lime'))],
  ] as const) {
    const base64_data = Buffer.from(bytes).toString('base64');
    const added = await api.call('documents/add-document', {
      ...{ collection_name, path, content: { type: 'auto', base64_data }, wait: true },
    });
    t.match(added, { index_status: 'indexed', error: null });
  }
  const found = await api.call('queries/top-pages', {
    ...{ collection_name, query: 'stones of the harbour walls', k: 1, include_content: true },
  });
  t.match(found.results, [{ path: 'scan.pdf', page_index: 1, content: /harbour walls\nof three towns/ }]);
  const receipt = await api.call('queries/top-snippets', { collection_name, query: 'sacks of lime', k: 1 });
  t.match(receipt.results, [{ path: 'photo.bmp' }]);
  const ready = (await (await fetch(`${server.url}/readyz`)).json()) as { components: object };
  t.match(ready.components, { ocr: { ready: true, detail: /embedded/ }, 'tool soffice': { ready: true } });
});

/** What Quarry adds to the published replies. */
interface Progress {
  readonly stage: string;
  readonly num_pages_done: number;
  readonly num_pages: number | null;
}
type Document = { readonly index_status: string; readonly progress?: Progress };
type Counts = { readonly num_documents: number; readonly parsing_documents?: readonly Progress[] };

await t.test('while a scan is read, its document says how far it is', async (t) => {
  const server = await TestServer.start(t, { OCR_ENGINE: 'embedded' });
  const api = new Api(server);
  const collection_name = 'slow';
  await api.call('collections/add-collection', { collection_name });
  const base64_data = Buffer.from(scans).toString('base64');
  const content = { type: 'auto', base64_data };
  await api.call('documents/add-document', { collection_name, path: 'scan.pdf', content });
  const seen = new Set<string>();
  let status = '';
  while (status !== 'indexed') {
    const document: Document = await api.info(collection_name, 'scan.pdf');
    const counts: Counts = await api.call('status/get-status', { collection_name });
    for (const one of [document.progress, ...(counts.parsing_documents ?? [])])
      if (one?.stage === 'recognising') seen.add(`${one.num_pages_done} of ${one.num_pages}`);
    status = document.index_status;
    t.notMatch(status, /failed/);
  }
  t.ok(seen.has('0 of 2') || seen.has('1 of 2'), [...seen].join());
  t.notOk('progress' in (await api.info(collection_name, 'scan.pdf')), 'and nothing when it is done');
});

await t.test(
  'with OCR switched off a scan is indexed without text, and a wrong language stops the start',
  async (t) => {
    const server = await TestServer.start(t, { OCR_ENGINE: 'off' });
    const api = new Api(server);
    const collection_name = 'scans';
    await api.call('collections/add-collection', { collection_name });
    const base64_data = Buffer.from(scans).toString('base64');
    const added = await api.call('documents/add-document', {
      ...{ collection_name, path: 'scan.pdf', content: { type: 'auto', base64_data }, wait: true },
    });
    t.match(added, { index_status: 'indexed', error: null });
    await t.rejects(server.restart({ OCR_ENGINE: 'embedded', OCR_LANGUAGES: 'eng+deu' }));
    t.match(server.log, /ocrLanguages is eng\+deu, but the embedded engine knows eng only/);
  },
);
