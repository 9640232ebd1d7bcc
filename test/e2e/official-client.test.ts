import ZeroEntropy from 'zeroentropy';
import { buildDocx } from '../parsing/office-fixtures.ts';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { waitFor } from './checked-api-client.ts';
import { RecordingProxy } from './counting-proxy.ts';
import { checkReply } from './published-replies.ts';
import { joinSharedServer } from './shared-server.ts';

/**
 * The official client of the hosted service, with only the base URL and the key changed. Its results are checked
 * against the published shapes.
 */

t.setTimeout(testFileMsMax);
const { server, key: apiKey } = await joinSharedServer();
const proxy = await RecordingProxy.open(t, server);
const client = new ZeroEntropy({ apiKey, baseURL: `${proxy.url}/v1` });
const collection_name = 'handbook';
const contract = 'The contract ends three months after written notice by either side.';

/** Full reply, with its shape checked. */
async function assertReply<T>(
  operation: string,
  answer: PromiseLike<T> & { asResponse(): Promise<unknown> },
) {
  const body = await answer;
  checkReply(operation, 200, JSON.parse(JSON.stringify(body)));
  return body;
}

async function apiErrorOf(answer: PromiseLike<unknown>): Promise<unknown> {
  try {
    await answer;
  } catch (error) {
    return error;
  }
  throw new Error('the server did not reject the request');
}

async function whenIndexed(path: string): Promise<void> {
  await waitFor(`indexing ${path}`, async () => {
    const { document } = await client.documents.getInfo({ collection_name, path });
    return document.index_status === 'indexed' ? true : null;
  });
}

await t.test('collections: add, list with an empty body, delete', async (t) => {
  t.same(await client.collections.add({ collection_name }), { message: 'Success!' });
  await client.collections.add({ collection_name: 'wide', num_shards: 8 });
  const listed = await assertReply('collections/get-collection-list', client.collections.getList());
  t.same(listed.collection_names, ['handbook', 'wide']);
  const sent = proxy.requests.at(-1);
  t.equal(sent?.body, '', 'the client sends an empty body');
  t.match(sent?.headers['content-type'], /json/, 'with a JSON content type');
  t.same((await client.collections.getList({})).collection_names, ['handbook', 'wide']);
  await assertReply('collections/delete-collection', client.collections.delete({ collection_name: 'wide' }));
  t.same((await client.collections.getList()).collection_names, ['handbook']);
});

await t.test('documents: every kind of content is added and found', async (t) => {
  const pdf = buildPdf([contract, 'Travel costs are refunded within fourteen days.']);
  const word = buildDocx([
    { heading: 1, text: 'Holidays' },
    'Every employee has thirty days of paid holiday.',
  ]);
  const contents: Record<string, ZeroEntropy.DocumentAddParams['content']> = {
    'plain.txt': { type: 'text', text: 'The office is closed on public holidays.' },
    'paged.txt': { type: 'text-pages', pages: ['Page one is about parking.', 'Page two is about lifts.'] },
    'rows.csv': { type: 'text-pages-unordered', pages: ['desk;blue', 'lamp;green', 'chair;red'] },
    'contract.pdf': { type: 'auto', base64_data: Buffer.from(pdf).toString('base64') },
    'holidays.docx': { type: 'auto', base64_data: Buffer.from(word).toString('base64') },
  };
  for (const [path, content] of Object.entries(contents)) {
    const added = client.documents.add({ collection_name, path, content, metadata: { kind: content.type } });
    const { response, data } = await added.withResponse();
    t.equal(response.status, 201, path);
    t.same(data, { message: 'Success!' });
    await whenIndexed(path);
  }
  const pages: Record<string, number> = {};
  for (const path of Object.keys(contents)) {
    const { document } = await assertReply(
      'documents/get-document-info',
      client.documents.getInfo({ collection_name, path, include_content: true }),
    );
    pages[path] = document.num_pages ?? -1;
    t.equal(typeof document.content, 'string', `${path} has text`);
  }
  t.same(pages, { 'plain.txt': 1, 'paged.txt': 2, 'rows.csv': 3, 'contract.pdf': 2, 'holidays.docx': 1 });
  const { document } = await client.documents.getInfo({ collection_name, path: 'paged.txt' });
  t.equal(document.content ?? null, null, 'content is returned only on request');
});

await t.test('documents: overwrite returns 200, and a page has text and an image URL', async (t) => {
  const content = { type: 'text', text: 'The office is closed on Sundays.' } as const;
  const before = await client.documents.getInfo({ collection_name, path: 'plain.txt' });
  const again = client.documents.add({ collection_name, path: 'plain.txt', content, overwrite: true });
  t.equal((await again.asResponse()).status, 200);
  await whenIndexed('plain.txt');
  const after = await client.documents.getInfo({ collection_name, path: 'plain.txt', include_content: true });
  t.equal(after.document.content, content.text);
  t.not(after.document.id, before.document.id, 'a new version of the content has a new id');
  const { page } = await assertReply(
    'documents/get-page-info',
    client.documents.getPageInfo({
      collection_name,
      path: 'contract.pdf',
      page_index: 1,
      include_content: true,
    }),
  );
  t.match(page.content, /Travel costs/);
  t.match(page.image_url, /^http.*\/v1\/documents\/get-page-image\?token=/);
  const text = await client.documents.getPageInfo({ collection_name, path: 'paged.txt', page_index: 0 });
  t.equal(text.page.image_url, null, 'plain text has no page images');
  t.equal(text.page.content ?? null, null);
});

await t.test('documents: update replaces the metadata and keeps the document', async (t) => {
  const { document: before } = await client.documents.getInfo({ collection_name, path: 'paged.txt' });
  const metadata = { owner: 'facilities', 'list:topics': ['parking', 'lifts'] };
  await assertReply(
    'documents/update-document',
    client.documents.update({ collection_name, path: 'paged.txt', metadata }),
  );
  await whenIndexed('paged.txt');
  const { document } = await client.documents.getInfo({ collection_name, path: 'paged.txt' });
  t.same(document.metadata, metadata);
  t.equal(document.id, before.id);
});

await t.test('queries: all result types with filter, reranker and all included fields', async (t) => {
  const query = 'how long before the end must notice be given';
  const filter = { kind: { $eq: 'auto' } };
  const documents = await assertReply(
    'queries/top-documents',
    client.queries.topDocuments({
      collection_name,
      query,
      k: 5,
      filter,
      include_metadata: true,
      latency_mode: 'high',
      reranker: 'zerank-2',
    }),
  );
  t.equal(documents.results[0]?.path, 'contract.pdf');
  t.same(documents.results[0]?.metadata, { kind: 'auto' });
  t.equal(documents.results.length, 2, 'the filter matches the two files');
  const pages = await assertReply(
    'queries/top-pages',
    client.queries.topPages({ collection_name, query, k: 3, include_content: true, include_metadata: true }),
  );
  t.match(pages.results[0], { path: 'contract.pdf', page_index: 0, content: /three months/ });
  t.match(pages.document_results[0], { path: 'contract.pdf', metadata: { kind: 'auto' } });
  const snippets = await assertReply(
    'queries/top-snippets',
    client.queries.topSnippets({
      collection_name,
      query,
      k: 3,
      filter,
      precise_responses: true,
      include_document_metadata: true,
      reranker: 'zerank-1-large',
    }),
  );
  t.match(snippets.results[0], { path: 'contract.pdf', content: /three months/ });
  t.equal(snippets.results[0]?.page_span[0], 0);
  t.same(
    snippets.document_results.map(({ path }) => path),
    [...new Set(snippets.results.map(({ path }) => path))],
    'each document once, best first',
  );
  const bare = await client.queries.topDocuments({ collection_name, query: null, k: 10 });
  t.equal(bare.results.length, 5, 'a null query lists all documents');
  t.same(new Set(bare.results.map(({ metadata }) => metadata)), new Set([null]));
});

await t.test('models embed and rerank', async (t) => {
  const embedded = await assertReply(
    'models/embed',
    client.models.embed({ model: 'zembed-1', input_type: 'query', input: ['one', 'two'], dimensions: 40 }),
  );
  t.same(
    embedded.results.map(({ embedding }) => embedding.length),
    [40, 40],
  );
  const packed = await client.models.embed({
    model: 'zembed-1',
    input_type: 'document',
    input: 'one text',
    encoding_format: 'base64',
    latency: 'fast',
  });
  t.equal(Buffer.from(packed.results[0]?.embedding as string, 'base64').length, 4 * 2560);
  const documents = ['Bananas are yellow.', contract, 'The lift is broken.'];
  const ranked = await assertReply(
    'models/rerank',
    client.models.rerank({ model: 'zerank-2', query: 'end of the contract', documents, top_n: 2 }),
  );
  t.equal(ranked.results.length, 2);
  t.equal(ranked.results[0]?.index, 1);
  t.equal(ranked.actual_latency_mode, 'fast');
});

await t.test('status: counts of one collection and of all', async (t) => {
  const one = await assertReply('status/get-status', client.status.getStatus({ collection_name }));
  t.match(one, { num_documents: 5, num_indexed_documents: 5, num_failed_documents: 0 });
  const { embedding_model: _, ...all } = one as typeof one & { embedding_model?: string };
  t.same(await client.status.getStatus(), all);
  t.same(await client.status.getStatus({}), all);
});

await t.test('paging ends with {query: {}}, and manually with path_gt', async (t) => {
  const all = ['contract.pdf', 'holidays.docx', 'paged.txt', 'plain.txt', 'rows.csv'];
  const found: string[] = [];
  for await (const document of client.documents.getInfoList({ collection_name, limit: 2 }, { query: {} })) {
    found.push(document.path);
    if (found.length > 20) break;
  }
  t.same(found, all);
  const manualPaths: string[] = [];
  let path_gt: string | undefined;
  for (;;) {
    const page = await assertReply(
      'documents/get-document-info-list',
      client.documents.getInfoList({
        collection_name,
        limit: 2,
        ...(path_gt === undefined ? {} : { path_gt }),
      }),
    );
    if (page.documents.length === 0) break;
    manualPaths.push(...page.documents.map(({ path }) => path));
    path_gt = manualPaths.at(-1);
  }
  t.same(manualPaths, all);
});

await t.test('the client does not retry a conflict or an unknown name', async (t) => {
  proxy.requests.length = 0;
  const content = { type: 'text', text: 'x' } as const;
  const errors = [
    await apiErrorOf(client.collections.add({ collection_name })),
    await apiErrorOf(client.documents.add({ collection_name, path: 'plain.txt', content })),
    await apiErrorOf(client.documents.getInfo({ collection_name, path: 'nowhere' })),
    await apiErrorOf(client.queries.topDocuments({ collection_name, query: 'x', k: 0 })),
  ];
  t.ok(errors[0] instanceof ZeroEntropy.ConflictError);
  t.ok(errors[1] instanceof ZeroEntropy.ConflictError);
  t.ok(errors[2] instanceof ZeroEntropy.NotFoundError);
  t.ok(errors[3] instanceof ZeroEntropy.BadRequestError);
  for (const error of errors.slice(0, 2)) t.match(error, { message: /already exists/ });
  t.same(proxy.statuses('collections/add-collection'), [409]);
  t.same(proxy.statuses('documents/add-document'), [409]);
  t.same(proxy.statuses('documents/get-document-info'), [404]);
  t.same(proxy.statuses('queries/top-documents'), [400]);
});

await t.test('documents: delete one, then many, and return the existing paths', async (t) => {
  const one = await assertReply(
    'documents/delete-document',
    client.documents.delete({ collection_name, path: 'plain.txt' }),
  );
  t.same(one, { deleted_paths: ['plain.txt'], message: 'Success!' });
  const path = ['rows.csv', 'nowhere', 'paged.txt'];
  const many = await client.documents.delete({ collection_name, path });
  t.same(many.deleted_paths, ['rows.csv', 'paged.txt']);
  const missing = await apiErrorOf(client.documents.delete({ collection_name, path: ['nowhere'] }));
  t.ok(missing instanceof ZeroEntropy.NotFoundError);
  const left = await client.queries.topDocuments({ collection_name, query: 'parking', k: 10 });
  t.same(left.results.map((result) => result.path).sort(), ['contract.pdf', 'holidays.docx']);
});
