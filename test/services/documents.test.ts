import { AppError } from '../../src/core/app-error.ts';
import { limits } from '../../src/core/limits.ts';
import { diskFullError } from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import {
  addTextDocument,
  createServices,
  type ServiceFixture,
  serviceCallFor,
  sha256,
} from './service-fixture.ts';

const info = async ({ documents }: ServiceFixture, path: string) => {
  const request = { collection_name: 'papers', path, include_content: true };
  const { document } = await documents.getDocumentInfo(serviceCallFor(), request);
  return { ...document, content: document.content === null ? null : [...document.content].join('') };
};
const base64 = (bytes: string) => Buffer.from(bytes).toString('base64');
async function* stream(...parts: readonly string[]) {
  for (const part of parts) yield Buffer.from(part);
}

t.test('a text is returned exactly as added, with its size, hash and pages', async (t) => {
  const parts = await createServices(t);
  const text = 'Ein Fisch 🐟\r\n\tand a\u2028line\u0000 with everything\ud800 in it';
  t.match(await addTextDocument(parts, 'a.txt', text), { status: 201, body: { index_status: 'indexed' } });
  const kept = text.replace('\ud800', '\ufffd');
  t.match(await info(parts, 'a.txt'), {
    content: kept,
    size: Buffer.byteLength(kept),
    sha256: sha256(kept),
    num_pages: 1,
    index_status: 'indexed',
    error: null,
  });
  const pages = ['first', '', 'third 🐟'];
  const content = { type: 'text-pages' as const, pages };
  await addTextDocument(parts, 'b.txt', '', { content });
  t.match(await info(parts, 'b.txt'), { content: pages.join('\n\n'), num_pages: 3 });
  for (const [page_index, page] of pages.entries()) {
    const request = { collection_name: 'papers', path: 'b.txt', page_index, include_content: true };
    const { content, image_url } = (await parts.documents.getPageInfo(serviceCallFor(), request)).page;
    t.same([[...(content ?? [])].join(''), image_url], [page, null]);
  }
});

t.test('the text is readable before and after indexing', async (t) => {
  const parts = await createServices(t);
  const release = parts.first.store.holdWrites();
  const adding = addTextDocument(parts, 'a.txt', 'early', { wait: false });
  release();
  await adding;
  t.equal((await info(parts, 'a.txt')).content, 'early');
  while (parts.first.ingest.depth > 0) await new Promise((resolve) => setImmediate(resolve));
  t.match(await info(parts, 'a.txt'), { content: 'early', index_status: 'indexed' });
});

t.test('a batch adds the valid items and returns an error for each other item', async (t) => {
  const parts = await createServices(t);
  await addTextDocument(parts, 'taken.txt', 'added first');
  const text = (path: string, fields: object = {}) => ({
    path,
    content: { type: 'text', text: path },
    ...fields,
  });
  const { results } = await parts.uploads.addDocuments(serviceCallFor(), {
    collection_name: 'papers',
    documents: [
      text('new.txt'),
      text('taken.txt'),
      text('taken.txt', { overwrite: true }),
      text(''),
      text('meta.txt', { metadata: { tags: ['a'] } }),
      { path: 'what.txt' },
      { path: 'bytes.txt', content: { type: 'auto', base64_data: '%%%' } },
      'nothing',
    ],
    wait: true,
  } as never);
  t.same(
    results.map(({ status }) => status),
    [201, 409, 200, 400, 400, 422, 400, 422],
  );
  for (const result of results)
    if (result.status >= 400) t.ok(result.detail, `${result.path}: ${result.detail}`);
  t.match(results[0], { index_status: 'indexed' });
});

t.test('a whole batch waits without a warning', async (t) => {
  const { uploads } = await createServices(t);
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on('warning', warned);
  t.teardown(() => process.off('warning', warned));
  const batch = Array.from({ length: 40 }, (_, i) => ({
    path: `${i}.txt`,
    content: { type: 'text' as const, text: `note ${i}` },
  }));
  const request = { collection_name: 'papers', documents: batch, wait: true };
  const { results } = await uploads.addDocuments(serviceCallFor(), request);
  t.ok(results.every(({ index_status }) => index_status === 'indexed'));
  await new Promise((resolve) => setImmediate(resolve));
  t.same(warnings, []);
});

t.test('an uploaded file is stored byte for byte; a rejected one leaves nothing on disk', async (t) => {
  const parts = await createServices(t);
  const { uploads, first } = parts;
  const upload = (path: string, ...pieces: readonly string[]) => {
    const parameters = { collection_name: 'papers', path, metadata: {}, overwrite: false, wait: true };
    return uploads.uploadDocument(serviceCallFor(), parameters, stream(...pieces));
  };
  t.match(await upload('a.bin', 'one ', 'two'), { status: 201, body: { index_status: 'indexed' } });
  t.match(await info(parts, 'a.bin'), { size: 7, sha256: sha256('one two') });
  await t.rejects(upload('a.bin', 'three'), { code: 'conflict' });
  first.store.nextFailure = diskFullError();
  await t.rejects(upload('b.bin', 'four'), { code: 'reserve_reached' });
  first.store.nextFailure = null;
  const cut = uploads.uploadDocument(
    serviceCallFor(),
    { collection_name: 'papers', path: 'c.bin', metadata: {}, overwrite: false, wait: false },
    (async function* () {
      yield Buffer.from('five');
      throw new Error('the client disconnected');
    })(),
  );
  await t.rejects(cut, /the client disconnected/);
  for (const bytes of ['three', 'four', 'five']) t.equal(await first.blobs.size(sha256(bytes)), null, bytes);
  t.equal(await first.blobs.size(sha256('one two')), 7);
});

t.test('deleting returns the deleted paths, and an error if there were none', async (t) => {
  const parts = await createServices(t);
  await addTextDocument(parts, 'a.txt', 'a');
  await addTextDocument(parts, 'b.txt', 'b');
  const remove = (path: string | string[]) =>
    parts.documents.deleteDocument(serviceCallFor(), { collection_name: 'papers', path });
  t.same(await remove(['b.txt', 'x.txt', 'a.txt', 'b.txt']), {
    deleted_paths: ['b.txt', 'a.txt'],
    message: 'Success!',
  });
  await t.rejects(remove('a.txt'), { code: 'not_found', message: /a\.txt/ });
  await t.rejects(remove(['a.txt', 'b.txt']), { code: 'not_found' });
});

t.test('an update has one change; without a change it only checks that the document exists', async (t) => {
  const parts = await createServices(t);
  await addTextDocument(parts, 'a.txt', 'a');
  const update = (fields: object, path = 'a.txt') =>
    parts.documents.updateDocument(serviceCallFor(), { collection_name: 'papers', path, ...fields });
  const before = await info(parts, 'a.txt');
  await update({});
  await update({ metadata: null, index_status: null });
  t.match(await info(parts, 'a.txt'), {
    id: before.id,
    metadata: before.metadata,
    index_status: 'indexed',
  });
  await t.rejects(update({}, 'x.txt'), { code: 'not_found' });
  const both = update({ metadata: { a: 'b' }, index_status: 'not_parsed' });
  await t.rejects(both, { code: 'bad_request', message: /cannot be combined/ });
  await t.rejects(update({ index_status: 'not_parsed' }), { code: 'precondition_failed' });
});

t.test('a list is read page by page in byte order, also below a prefix', async (t) => {
  const parts = await createServices(t);
  const paths = ['a/1', 'a/10', 'a/2', 'b', 'ä', '🐟', 'a', 'B'];
  for (const path of paths) await addTextDocument(parts, path, path, { wait: false });
  const list = async (fields: object) => {
    const found: string[] = [];
    for (let path_gt: string | undefined; ; path_gt = found.at(-1)) {
      const request = {
        collection_name: 'papers',
        limit: 2,
        ...fields,
        ...(path_gt === undefined ? {} : { path_gt }),
      };
      const { documents } = await parts.documents.getDocumentInfoList(serviceCallFor(), request);
      if (documents.length === 0) return found;
      found.push(...documents.map((document) => document.path));
    }
  };
  const sorted = [...paths].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  t.same(await list({}), sorted);
  t.same(await list({ path_prefix: 'a/' }), ['a/1', 'a/10', 'a/2']);
});

t.test('a body that arrives slowly shortens the wait for the index, an upload does not', async (t) => {
  let unstick = () => {};
  let stuck: Promise<void> = Promise.resolve();
  const parse = () => stuck.then(() => ['a page']);
  const { uploads } = await createServices(t, { parse });
  const late = { ...serviceCallFor(), receivedAt: performance.now() - limits.waitMsMax };
  const parameters = { collection_name: 'papers', path: 'b.bin', metadata: {}, overwrite: false, wait: true };
  const uploaded = uploads.uploadDocument(late, parameters, stream('bytes'));
  t.match(await uploaded, { status: 201, body: { index_status: 'indexed' } });
  stuck = new Promise((resolve) => {
    unstick = resolve;
  });
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(alive));
  const content = { type: 'auto' as const, base64_data: base64('anything') };
  const request = { collection_name: 'papers', path: 'a.bin', content, wait: true };
  const { status, body } = await uploads.addDocument(late, request);
  t.equal(status, 201);
  t.match(
    body,
    { index_status: /^(not_parsed|parsing)$/ },
    'the reply has the current status and does not wait',
  );
  unstick();
});

t.test('waiting for a document that is overwritten or deleted returns its last status at once', async (t) => {
  const ends: readonly (readonly [string, (parts: ServiceFixture) => Promise<unknown>])[] = [
    ['overwritten', (parts) => addTextDocument(parts, 'a.bin', 'instead')],
    [
      'deleted',
      ({ documents }) =>
        documents.deleteDocument(serviceCallFor(), { collection_name: 'papers', path: 'a.bin' }),
    ],
    [
      'deleted with its collection',
      ({ collections }) => collections.deleteCollection(serviceCallFor(), { collection_name: 'papers' }),
    ],
  ];
  const content = { type: 'auto' as const, base64_data: base64('never read') };
  const gone = { index_status: 'parsing', error: /overwritten or deleted before it was indexed/ };
  for (const [what, end] of ends) {
    const parts = await createServices(t, { parse: () => new Promise(() => {}) });
    const waiting = addTextDocument(parts, 'a.bin', '', { content });
    while (parts.first.documents.get(parts.first.papers.collectionId, 'a.bin')?.status !== 'parsing')
      await new Promise((resolve) => setImmediate(resolve));
    await end(parts);
    t.match(await waiting, { status: 201, body: { message: 'Success!', ...gone } }, what);
  }
  const parts = await createServices(t, { parse: () => new Promise(() => {}) });
  const documents = [{ path: 'a.bin', content, overwrite: true }];
  const batch = { collection_name: 'papers', documents, wait: true };
  const waiting = parts.uploads.addDocuments(serviceCallFor(), batch);
  while (parts.first.ingest.depth === 0) await new Promise((resolve) => setImmediate(resolve));
  await addTextDocument(parts, 'a.bin', 'instead');
  t.match((await waiting).results, [{ path: 'a.bin', status: 201, index_status: String }], 'also in a batch');
  t.match(await info(parts, 'a.bin'), { content: 'instead', index_status: 'indexed' });
});

t.test('a full queue rejects metadata changes and retries, too', async (t) => {
  const parts = await createServices(t);
  await addTextDocument(parts, 'a.txt', 'a');
  parts.admission.check = () => {
    throw new AppError('queue_full', 'The ingest queue is full.');
  };
  const update = (fields: object) =>
    parts.documents.updateDocument(serviceCallFor(), { collection_name: 'papers', path: 'a.txt', ...fields });
  await t.rejects(update({ metadata: { a: 'b' } }), { code: 'queue_full' });
  await t.rejects(update({ index_status: 'not_parsed' }), { code: 'queue_full' });
  await update({});
  t.match(await info(parts, 'a.txt'), { metadata: {}, index_status: 'indexed' });
});
