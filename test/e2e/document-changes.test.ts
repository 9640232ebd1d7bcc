import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { createCollection } from './documents-fixture.ts';
import { adminKey, TestServer } from './server.ts';

/** Documents deleted and updated by filter, and metadata changed by a merge patch. */

t.setTimeout(testFileMsMax);
const server = await TestServer.start(t);
const api = new CheckedApiClient(server);

/** A collection with `count` documents `a/0`, `b/1`, `a/2` and so on; those of `a` are by Ada. */
async function fill(name: string, count: number): Promise<string> {
  const collection_name = await createCollection(api, name);
  const documents = Array.from({ length: count }, (_, i) => ({
    path: `${i % 2 === 0 ? 'a' : 'b'}/${i}`,
    content: { type: 'text', text: `Granite number ${i}.` } as const,
    metadata: { author: i % 2 === 0 ? 'Ada' : 'Grace', draft: 'yes', 'list:topics': ['stone', `n${i}`] },
  }));
  await api.addAll(collection_name, documents);
  return collection_name;
}

async function metadataOf(collection: string, path: string): Promise<unknown> {
  return (await api.info(collection, path)).metadata;
}

/** Paths that a query with a filter finds. */
async function found(collection_name: string, filter: object): Promise<string[]> {
  const { results } = await api.call('queries/top-documents', {
    collection_name,
    query: 'granite',
    k: 100,
    filter,
  });
  return results.map(({ path }) => path).sort();
}

await t.test('documents that match a filter are deleted, and no others', async (t) => {
  const collection_name = await fill('deletions', 8);
  const filter = { $and: [{ author: 'Ada' }, { 'list:topics': { $nin: ['n4'] } }] };
  const preview = await api.call('documents/delete-documents', { collection_name, filter, dry_run: true });
  t.match(preview, { deleted_paths: ['a/0', 'a/2', 'a/6'], has_more: false, num_matching: 3 });
  t.equal((await api.paths(collection_name)).length, 8, 'a dry run deletes nothing');
  const first = await api.call('documents/delete-documents', { collection_name, filter, limit: 2 });
  t.match(first, { deleted_paths: ['a/0', 'a/2'], has_more: true });
  t.equal(first.num_matching, undefined);
  const second = await api.call('documents/delete-documents', { collection_name, filter, limit: 2 });
  t.match(second, { deleted_paths: ['a/6'], has_more: false });
  t.match(await api.call('documents/delete-documents', { collection_name, filter }), {
    deleted_paths: [],
    has_more: false,
  });
  const prefix = { collection_name, path_prefix: 'b/', filter: { 'list:topics': { $in: ['n1', 'n4'] } } };
  t.match(await api.call('documents/delete-documents', prefix), { deleted_paths: ['b/1'] });
  const rest = ['a/4', 'b/3', 'b/5', 'b/7'];
  t.same(await api.paths(collection_name), rest);
  t.same(await found(collection_name, {}), rest);
  await server.restart();
  t.same(await api.paths(collection_name), rest, 'after a restart');
});

await t.test(
  'a call that would select all documents, or has an invalid filter, changes nothing',
  async (t) => {
    const collection_name = await fill('rejections', 2);
    for (const [body, status, detail] of [
      [{}, 400, /filter or a path_prefix/],
      [{ filter: {} }, 400, /filter or a path_prefix/],
      [{ filter: null, path_prefix: '' }, 400, /filter or a path_prefix/],
      [{ filter: { author: { $near: 'x' } } }, 400, /\$near/],
      [{ filter: { author: 'Ada' }, limit: 0 }, 400, /limit/],
      [{ filter: { author: 'Ada' }, limit: 1_025 }, 400, /limit/],
      [{ filter: { author: 'Ada' }, dry_run: 'yes' }, 422, /dry_run/],
    ] as const) {
      for (const operation of ['documents/delete-documents', 'documents/update-documents'] as const) {
        const request = { collection_name, metadata_patch: { a: 'b' }, ...body };
        const reply = await api.request(operation, request);
        t.equal(reply.status, status, `${operation} ${JSON.stringify(body)}`);
        t.match(JSON.stringify(reply.body), detail);
      }
    }
    for (const [metadata_patch, status] of [
      [{ a: [5] }, 422],
      [{ a: ['x'] }, 400],
      [{ 'list:a': 'x' }, 400],
      [{ 'not a name': 'x' }, 400],
      [{ a: 'x'.repeat(70_000) }, 400],
    ] as const) {
      const request = { collection_name, filter: { author: 'Ada' }, metadata_patch };
      t.equal(await api.status('documents/update-documents', request), status);
      const single = { collection_name, path: 'a/0', metadata_patch };
      t.equal(await api.status('documents/update-document', single), status);
    }
    t.equal(
      await api.status('documents/delete-documents', { collection_name: 'none', path_prefix: 'a' }),
      404,
    );
    t.same(await api.paths(collection_name), ['a/0', 'b/1']);
    t.match(await metadataOf(collection_name, 'a/0'), { author: 'Ada', draft: 'yes' });
  },
);

await t.test('a patch changes the metadata of the documents that match', async (t) => {
  const collection_name = await fill('patches', 6);
  const request = {
    collection_name,
    filter: { author: 'Ada' },
    metadata_patch: { draft: null, reviewed: '2026', 'list:topics': ['rock'] },
  };
  t.match(await api.call('documents/update-documents', { ...request, dry_run: true, limit: 1 }), {
    updated_paths: ['a/0'],
    skipped_paths: [],
    has_more: true,
    num_matching: 3,
  });
  t.match(await metadataOf(collection_name, 'a/0'), { draft: 'yes' }, 'a dry run changes nothing');
  t.match(await api.call('documents/update-documents', { ...request, limit: 2 }), {
    updated_paths: ['a/0', 'a/2'],
    has_more: true,
  });
  t.match(await api.call('documents/update-documents', request), { updated_paths: ['a/4'], has_more: false });
  t.match(
    await api.call('documents/update-documents', request),
    { updated_paths: [], skipped_paths: [], has_more: false },
    'the same call changes nothing again',
  );
  t.strictSame(await metadataOf(collection_name, 'a/2'), {
    author: 'Ada',
    'list:topics': ['rock'],
    reviewed: '2026',
  });
  t.match(await metadataOf(collection_name, 'b/1'), { draft: 'yes' });
  await waitUntil('the new metadata are indexed', async () => {
    return (await found(collection_name, { reviewed: '2026' })).length === 3;
  });
  t.same(await found(collection_name, { draft: 'yes' }), ['b/1', 'b/3', 'b/5']);
});

await t.test('update-document patches one document', async (t) => {
  const collection_name = await fill('one', 1);
  const patch = (fields: object) =>
    api.request('documents/update-document', { collection_name, path: 'a/0', ...fields });
  t.equal((await patch({ metadata_patch: { draft: null, year: '2026' } })).status, 200);
  const expected = { author: 'Ada', 'list:topics': ['stone', 'n0'], year: '2026' };
  t.strictSame(await metadataOf(collection_name, 'a/0'), expected);
  const both = await patch({ metadata_patch: { a: 'b' }, metadata: {} });
  t.equal(both.status, 400);
  t.match(JSON.stringify(both.body), /cannot be combined/);
  t.equal((await patch({ metadata_patch: { a: 'b' }, index_status: 'not_parsed' })).status, 400);
  t.strictSame(await metadataOf(collection_name, 'a/0'), expected);
});

await t.test('a restricted key changes only the documents that it can read', async (t) => {
  const collection_name = await fill('restricted', 4);
  const administration = new CheckedApiClient(server, adminKey);
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
  const list = await fetch(`${server.url}/v1/admin/list-organizations`, {
    method: 'POST',
    headers,
    body: '{}',
  });
  const { organizations } = (await list.json()) as { organizations: { organization_id: string }[] };
  const { api_key } = await administration.call('admin/add-api-key', {
    organization_id: organizations[0]!.organization_id,
    name: 'Ada',
    permission: 'all',
    restriction: { collection_names: null, filter: { author: 'Ada' } },
  });
  const ada = new CheckedApiClient(server, api_key);
  const everything = { collection_name, filter: { draft: 'yes' } };
  t.match(await ada.call('documents/delete-documents', { ...everything, dry_run: true }), {
    deleted_paths: ['a/0', 'a/2'],
    num_matching: 2,
  });
  const away = { ...everything, metadata_patch: { author: 'Grace' } };
  t.equal(await ada.status('documents/update-documents', away), 403, 'they would disappear for the key');
  const allowed = { ...everything, metadata_patch: { draft: 'no' } };
  t.match(await ada.call('documents/update-documents', allowed), { updated_paths: ['a/0', 'a/2'] });
  const own = { collection_name, filter: { author: { $in: ['Ada', 'Grace'] } } };
  t.match(await ada.call('documents/delete-documents', own), { deleted_paths: ['a/0', 'a/2'] });
  t.same(await api.paths(collection_name), ['b/1', 'b/3']);
});

await t.test('more documents than one group are changed, each once', async (t) => {
  const collection_name = await fill('many', 200);
  const patch = { collection_name, path_prefix: 'b/', metadata_patch: { wave: '1' } };
  const { updated_paths, has_more } = await api.call('documents/update-documents', patch);
  t.equal(new Set(updated_paths).size, 100);
  t.equal(has_more, false);
  t.match(await metadataOf(collection_name, 'b/199'), { wave: '1' });
  const { deleted_paths } = await api.call('documents/delete-documents', {
    collection_name,
    path_prefix: 'b/',
  });
  t.equal(new Set(deleted_paths).size, 100);
  t.equal((await api.paths(collection_name)).length, 100);
});
