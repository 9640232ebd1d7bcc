import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { type ApiReply, CheckedApiClient } from './checked-api-client.ts';
import { adminKey } from './server.ts';
import { joinSmallServer } from './small-server.ts';
import { checkStorageRaces, raceOverrides } from './storage-races.ts';

/** Limits of an organization, and that its usage does not reduce the capacity of others. */

t.setTimeout(testFileMsMax);
const { server } = await joinSmallServer();
const administration = new CheckedApiClient(server, adminKey);
let organizations = 0;

/** Organization on the `free` tier with a collection `c`, and its state as shown to the administrator. */
async function organization(overrides: object = {}) {
  organizations += 1;
  const organization_id = `66666666-0000-4000-8000-${String(organizations).padStart(12, '0')}`;
  await administration.call('admin/create-organization', { organization_id });
  const change = (changes: object) =>
    administration.call('admin/update-organization', { organization_id, ...changes });
  await change(overrides);
  const body = { organization_id, name: 'key', permission: 'all' };
  const api = new CheckedApiClient(server, (await administration.call('admin/add-api-key', body)).api_key);
  await api.call('collections/add-collection', { collection_name: 'c' });
  const show = async () =>
    (await administration.call('admin/get-organization', { organization_id })) as unknown as {
      rate_limits: Record<string, unknown>;
      storage: { readonly documents: number; readonly bytes: number };
    };
  return { api, change, show };
}

const text = (words: string) => ({ type: 'text', text: words }) as const;
const list = { collection_name: 'c', query: null, k: 1 };

function put(api: CheckedApiClient, path: string, bytes: number): Promise<ApiReply> {
  const as = 'documents/add-document';
  return api.request(`documents/c/${path}`, undefined, { method: 'PUT', body: 'x'.repeat(bytes), as });
}

/** Fields of an error reply: the limit, and whether a retry can succeed. */
function readRejection({ status, headers, body }: ApiReply) {
  const retry = headers.get('x-should-retry');
  const { detail } = body as { detail: string };
  return { status, limit: headers.get('x-quarry-limit'), retry, detail };
}

/** Number of queries answered before one is refused, at most `most`. */
async function queriesLeft(api: CheckedApiClient, most = 60): Promise<number> {
  for (let answered = 0; answered < most; answered += 1)
    if ((await api.request('queries/top-documents', list)).status === 429) return answered;
  return most;
}

const limited = await organization();
const storing = await organization({ override_max_documents: 3 });

await t.test('a tier limits queries, and the error names the limit', async (t) => {
  const { api, show } = limited;
  const other = await organization({ override_queries_per_minute: 1_000_000 });
  t.match((await show()).rate_limits, { queries_per_minute: 40, overridden: false, refresh_seconds: 15 });
  // Default storage limits of the free tier.
  t.match((await show()).rate_limits, { max_documents: 10_000, max_storage_bytes: 1_000_000_000 });
  t.match((await other.show()).rate_limits, { queries_per_minute: 1_000_000, overridden: true });
  t.ok((await queriesLeft(api, 200)) >= 40);
  const refused = readRejection(await api.request('queries/top-documents', list));
  t.match(refused, {
    status: 429,
    limit: 'queries',
    retry: null,
    detail: /limit of 40 queries per minute/,
  });
  t.equal(await queriesLeft(other.api), 60, 'other organizations are not limited');
  t.equal(await api.status('status/get-status'), 200, 'other operations are not limited');
});

await t.test('requests of any kind are limited together', async (t) => {
  const { api } = await organization({ override_requests_per_minute: 4 });
  const replies: ApiReply[] = [];
  for (let i = 0; i < 12 && replies.at(-1)?.status !== 429; i += 1)
    replies.push(await api.request('status/get-status'));
  t.match(readRejection(replies.at(-1)!), { status: 429, limit: 'requests' });
});

await t.test('an organization stores at most its number of documents and bytes', async (t) => {
  const { api, change, show } = storing;
  const batch = {
    collection_name: 'c',
    documents: ['a', 'b', 'c', 'd', 'e'].map((path) => ({ path, content: text('12345') })),
  };
  const { results } = await api.call('documents/add-documents', batch);
  t.same(
    results.map(({ status }) => status),
    [201, 201, 201, 429, 429],
  );
  t.match(results.at(-1)?.detail, /limit of 3 documents: it stores 3.*Delete documents/);
  t.match((await show()).storage, { documents: 3, bytes: 15 });
  t.match(readRejection(await put(api, 'f', 5)), { status: 429, limit: 'documents', retry: 'false' });
  const again = { collection_name: 'c', path: 'a' };
  for (const content of [text('1'), { type: 'auto', base64_data: 'MQ==' }])
    t.equal(
      await api.status('documents/add-document', { ...again, content }),
      409,
      'a path that already exists',
    );
  t.equal((await put(api, 'a', 5)).status, 409);
  t.equal(
    await api.status('documents/add-document', {
      collection_name: 'c',
      path: 'a',
      content: text('1234567'),
      overwrite: true,
    }),
    200,
    'replacing a document adds none',
  );
  await api.call('documents/delete-document', { collection_name: 'c', path: 'b' });
  t.equal((await put(api, 'f', 5)).status, 201, 'a deleted document frees capacity');
  t.match((await show()).storage, { documents: 3, bytes: 17 });

  await change({ override_max_documents: 0, override_max_storage_bytes: 30 });
  t.match(readRejection(await put(api, 'g', 14)), {
    status: 429,
    limit: 'storage-bytes',
    detail: /30 bytes.*it stores 17/,
  });
  t.equal((await put(api, 'g', 13)).status, 201);
  t.equal(await api.status('queries/top-documents', list), 200, 'queries still work');
});

await t.test('a crash fills no bucket and forgets no usage of storage', async (t) => {
  await queriesLeft(limited.api, 200);
  // Charges are persisted every second. Writes complete in order, so this one follows them.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  t.match(await put(limited.api, 'later', 1), { status: 201 });
  const stopped = performance.now();
  await server.stop('SIGKILL');
  await server.restart();
  const left = await queriesLeft(limited.api);
  const refills = Math.ceil((performance.now() - stopped + 4_000) / 15_000);
  t.ok(left <= 10 * (refills + 1), `${left} queries are left after ${refills} refills`);

  const { api, show } = storing;
  t.match((await show()).storage, { documents: 4, bytes: 30 });
  t.equal((await put(api, 'h', 1)).status, 429);
  await api.call('collections/delete-collection', { collection_name: 'c' });
  t.match((await show()).storage, { documents: 0, bytes: 0 });
});

await t.test('concurrent writes and deletions of one path never exceed the storage limit', async (t) => {
  const { api, show } = await organization(raceOverrides);
  await checkStorageRaces(t, api, async () => (await show()).storage.bytes, 4);
});

await t.test('bytes of documents per minute are limited, regardless of the operation', async (t) => {
  const { api } = await organization({ override_document_bytes_per_minute: 1_000 });
  t.match(readRejection(await put(api, 'huge', 1_001)), {
    status: 429,
    limit: 'document-bytes',
    retry: 'false',
  });
  t.equal((await put(api, 'a', 990)).status, 201);
  const words = { collection_name: 'c', path: 'b', content: text('x'.repeat(900)) };
  t.match(readRejection(await api.request('documents/add-document', words)), {
    status: 429,
    limit: 'document-bytes',
  });
});

await t.test('the number of waiting documents of an organization is limited', async (t) => {
  const { api } = await organization({ override_max_ingest_documents: 2 });
  const documents = Array.from({ length: 100 }, (_, i) => ({ path: `${i}`, content: text(`Text ${i}.`) }));
  const { results } = await api.call('documents/add-documents', { collection_name: 'c', documents });
  const added = results.filter(({ status }) => status === 201).length;
  const refused = results.filter(({ status }) => status === 429);
  t.ok(added >= 2 && refused.length > 0 && added + refused.length === 100);
  t.match(refused[0]?.detail, /limit of 2 documents in the ingest queue/);
  t.match(await api.call('status/get-status'), { num_documents: added });
});

await t.test('a flood of queries of another organization does not delay a query', async (t) => {
  const many = { override_queries_per_minute: 1_000_000, subscription_tier: 'enterprise' };
  const [busyTenant, quietTenant] = [await organization(many), await organization(many)];
  for (const { api } of [busyTenant, quietTenant]) {
    const documents = Array.from({ length: 10 }, (_, i) => ({
      path: `${i}`,
      content: text(`Granite of the ${i}th hill, and of the valley behind it.`),
    }));
    await api.addAll('c', documents);
  }
  const order: string[] = [];
  const ask = async (name: string, { api }: typeof busyTenant, i: number) => {
    const query = `granite of hill ${i}`;
    await api.call('queries/top-snippets', { collection_name: 'c', query, k: 5, reranker: 'zerank-2' });
    order.push(name);
  };
  const floods = Array.from({ length: 120 }, (_, i) => ask('flood', busyTenant, i));
  await Promise.all([...floods, ask('guest', quietTenant, 0)]);
  const behind = order.length - 1 - order.indexOf('guest');
  t.ok(behind >= 60, `the query arrived last, and ${behind} of 120 were answered after it`);
});

/** File that takes a parser several milliseconds. */
function page(i: number) {
  const html = `<html><body>${`<p>Page ${i} of many.</p>`.repeat(400)}</body></html>`;
  return { type: 'auto', base64_data: Buffer.from(html).toString('base64') };
}

await t.test('documents of another organization do not delay a document', async (t) => {
  const [busyTenant, quietTenant] = [await organization(), await organization()];
  const documents = Array.from({ length: 256 }, (_, i) => ({ path: `${i}`, content: page(i) }));
  await busyTenant.api.call('documents/add-documents', { collection_name: 'c', documents });
  const add = { collection_name: 'c', path: 'one', content: page(0), wait: true };
  t.match(await quietTenant.api.call('documents/add-document', add), { index_status: 'indexed' });
  const { num_indexed_documents, num_documents } = await busyTenant.api.call('status/get-status');
  t.equal(num_documents, 256);
  t.ok(num_indexed_documents < 128, `${num_indexed_documents} of 256 earlier documents were done`);
  await busyTenant.api.call('collections/delete-collection', { collection_name: 'c' });
});

await t.test('files that another organization parses do not delay a document', async (t) => {
  const [busyTenant, quietTenant] = [await organization(), await organization()];
  let read = 0;
  const floods = Array.from({ length: 80 }, async (_, i) => {
    const { base64_data } = page(i);
    await busyTenant.api.call('parsers/parse-document', { base64_data });
    read += 1;
  });
  const add = { collection_name: 'c', path: 'one', content: page(0), wait: true };
  t.match(await quietTenant.api.call('documents/add-document', add), { index_status: 'indexed' });
  t.ok(read < 60, `${read} of 80 earlier files were done`);
  await Promise.all(floods);
});
