import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { waitFor } from './checked-api-client.ts';
import { joinSharedServer } from './shared-server.ts';
import { createClient } from './tenant.ts';

/** Numbers, booleans, dates and points as metadata, from the request to the reply. */

t.setTimeout(testFileMsMax);
const { server, api, key, organization_id } = await joinSharedServer();
const text = (words: string) => ({ type: 'text', text: words }) as const;

const documents = {
  berlin: {
    year: 1999,
    final: true,
    published: '1999-12-31T23:30:00-01:00',
    place: { lat: 52.52, lon: 13.405 },
  },
  paris: {
    year: 2000,
    final: false,
    published: '2000-01-01T00:29:59.5Z',
    place: { lat: 48.857, lon: 2.352 },
  },
  suva: { year: 2000.5, final: true, published: '2000-01-01', place: { lat: -18.142, lon: 178.442 } },
  old: { year: '2000', final: 'true', published: 'long ago', place: 'Berlin' },
  none: {},
};

async function fill(collection_name: string): Promise<void> {
  await api.call('collections/add-collection', { collection_name });
  await api.addAll(
    collection_name,
    Object.entries(documents).map(([path, metadata]) => ({
      path,
      metadata,
      content: text('Granite quarry.'),
    })),
  );
}

async function found(collection_name: string, filter: object, client = api): Promise<string> {
  const request = { collection_name, filter, k: 100 };
  const searched = await client.call('queries/top-documents', { ...request, query: 'granite' });
  const listed = await client.call('queries/top-documents', { ...request, query: null });
  const names = (results: readonly { path: string }[]) =>
    results
      .map(({ path }) => path)
      .sort()
      .join(' ');
  t.equal(names(listed.results), names(searched.results), JSON.stringify(filter));
  return names(searched.results);
}

const cases: readonly (readonly [object, string])[] = [
  [{ year: 2000 }, 'paris'],
  [{ year: '2000' }, 'old'],
  [{ year: { $gte: 2000 } }, 'paris suva'],
  [{ year: { $between: [1999, 2000] } }, 'berlin paris'],
  [{ year: { $gt: '' } }, 'old'],
  [{ year: { $ne: 2000 } }, 'berlin none old suva'],
  [{ year: { $in: [1999, '2000'] } }, 'berlin old'],
  [{ year: { $not: { $lt: 2000 } } }, 'none old paris suva'],
  [{ final: true }, 'berlin suva'],
  [{ final: { $in: [false] } }, 'paris'],
  [{ final: { $exists: true } }, 'berlin old paris suva'],
  [{ published: { $gt: { $date: '2000-01-01T00:29:59.5Z' } } }, 'berlin'],
  [{ published: { $eq: { $date: '2000-01-01T01:00:00+01:00' } } }, 'suva'],
  [{ published: '2000-01-01' }, 'suva'],
  [{ place: { $geo_radius: { lat: 48.857, lon: 2.352, meters: 880_000 } } }, 'berlin paris'],
  [{ place: { $geo_box: { south: -90, west: 170, north: 0, east: -170 } } }, 'suva'],
  [{ place: { $not: { $geo_radius: { lat: 0, lon: 0, meters: 2.1e7 } } } }, 'none old'],
];

await t.test('filters compare by type, for queries and lists, and after a restart', async (t) => {
  await fill('typed');
  for (const [filter, expected] of cases)
    t.equal(await found('typed', filter), expected, JSON.stringify(filter));
  await server.restart();
  for (const [filter, expected] of cases)
    t.equal(await found('typed', filter), expected, `restarted ${JSON.stringify(filter)}`);
  for (const [path, metadata] of Object.entries(documents))
    t.strictSame((await api.info('typed', path)).metadata, metadata, 'metadata returns as sent');
});

await t.test('a schema validates documents and makes strings dates', async (t) => {
  const collection_name = 'schema';
  const metadata_schema = { year: 'number', final: 'boolean', published: 'date', place: 'geo' } as const;
  await api.call('collections/add-collection', { collection_name, metadata_schema });
  const add = (metadata: object) => ({
    collection_name,
    path: 'a',
    overwrite: true,
    content: text('Granite.'),
    metadata,
  });
  for (const [field, value] of Object.entries(documents.old)) {
    const refused = await api.request('documents/add-document', add({ [field]: value }));
    t.equal(refused.status, 400, field);
    t.match(
      (refused.body as { detail: string }).detail,
      new RegExp(`metadata "${field}" must be .*metadata_schema`),
    );
  }
  await api.call('documents/add-document', { ...add(documents.berlin), wait: true });
  t.equal(await found(collection_name, { published: { $gte: '2000-01-01T00:30:00Z' } }), 'a');
  t.equal(await found(collection_name, { published: { $gt: '2000-01-01T00:30:00Z' } }), '');
  t.equal(
    (
      await api.request('queries/top-documents', {
        collection_name,
        query: 'x',
        k: 1,
        filter: { published: 'now' },
      })
    ).status,
    400,
  );
  const patched = await api.request('documents/update-document', {
    collection_name,
    path: 'a',
    metadata_patch: { year: 'MM' },
  });
  t.equal(patched.status, 400, 'a patch is validated');
  const { collection } = await api.call('collections/get-collection-info', { collection_name });
  t.match(collection, { metadata_schema });
  await api.call('collections/update-collection', { collection_name, metadata_schema: null });
  t.equal(await found(collection_name, { published: { $gte: '2000-01-01T00:30:00Z' } }), '', 'strings again');
});

await t.test('changes by filter and merge patches keep types', async (t) => {
  await fill('changes');
  const patch = {
    collection_name: 'changes',
    filter: { year: { $lt: 2000 } },
    metadata_patch: { final: null, year: 3, place: { lat: 1 } },
  };
  t.same((await api.call('documents/update-documents', patch)).updated_paths, ['berlin']);
  await waitFor('the update of berlin', async () =>
    (await api.info('changes', 'berlin')).index_status === 'indexed' ? true : null,
  );
  t.strictSame((await api.info('changes', 'berlin')).metadata, {
    year: 3,
    published: documents.berlin.published,
    place: { lat: 1, lon: 13.405 },
  });
  const removal = {
    collection_name: 'changes',
    filter: { place: { $geo_radius: { lat: 1, lon: 13, meters: 60_000 } } },
  };
  t.same((await api.call('documents/delete-documents', removal)).deleted_paths, ['berlin']);
});

await t.test('copies and exports keep types and schema', async (t) => {
  const clone = { collection_name: 'schema', new_collection_name: 'schema-copy' };
  const metadata_schema = { published: 'date' } as const;
  await api.call('collections/update-collection', { collection_name: 'schema', metadata_schema });
  const reply = await api.request('collections/clone-collection', clone);
  t.equal(reply.status, 200);
  await waitFor('the copy', async () =>
    (await api.info('schema-copy', 'a')).index_status === 'indexed' ? true : null,
  );
  t.equal(await found('schema-copy', { published: { $gte: '2000-01-01T00:30:00Z' }, final: true }), 'a');
  const request = { collection_name: 'schema-copy' };
  t.match((await api.call('collections/get-collection-info', request)).collection, { metadata_schema });
  const exported = await api.call('documents/export-documents', request);
  t.strictSame((exported.documents[0] as unknown as { metadata: object }).metadata, documents.berlin);
});

await t.test('the filter of a key compares by type', async (t) => {
  const clientOf = (filter: object | null) =>
    createClient(server, organization_id, { restriction: { collection_names: null, filter } });
  const whole = await clientOf(null);
  const collection_name = 'keys';
  await whole.call('collections/add-collection', { collection_name });
  await whole.addAll(
    collection_name,
    Object.entries(documents).map(([path, metadata]) => ({
      path,
      metadata,
      content: text('Granite quarry.'),
    })),
  );
  for (const [filter, expected] of cases) {
    const restricted = await clientOf(filter);
    t.equal(await found(collection_name, {}, restricted), expected, JSON.stringify(filter));
    t.same(
      (await restricted.paths(collection_name)).sort().join(' '),
      expected,
      `listed ${JSON.stringify(filter)}`,
    );
    for (const path of Object.keys(documents)) {
      const { status } = await restricted.request('documents/get-document-info', { collection_name, path });
      t.equal(status, expected.split(' ').includes(path) ? 200 : 404, `${path} ${JSON.stringify(filter)}`);
    }
  }
});

await t.test('facets count the documents that match the filter', async (t) => {
  const facets = ['final', { year: { ranges: [{ to: 2000 }, { from: 2000 }] } }, { published: { limit: 1 } }];
  const request = { collection_name: 'typed', k: 1, facets };
  const expected = [
    {
      field: 'final',
      values: [
        { value: true, count: 2 },
        { value: 'true', count: 1 },
        { value: false, count: 1 },
      ],
      num_values: 3,
    },
    {
      field: 'year',
      ranges: [
        { to: 2000, count: 1 },
        { from: 2000, count: 2 },
      ],
    },
    { field: 'published', values: [{ value: '1999-12-31T23:30:00-01:00', count: 1 }], num_values: 4 },
  ];
  for (const operation of ['queries/top-documents', 'queries/top-pages', 'queries/top-snippets'] as const)
    t.match(await api.call(operation, { ...request, query: 'granite' }), { facets: expected }, operation);
  t.match(await api.call('queries/top-documents', { ...request, query: null }), { facets: expected });
  const filtered = await api.call('queries/top-documents', {
    ...request,
    query: null,
    filter: { final: true },
  });
  t.match(filtered, { facets: [{ values: [{ value: true, count: 2 }], num_values: 1 }] });
  const plain = await api.call('queries/top-documents', { ...request, query: 'granite', facets: undefined });
  t.notOk('facets' in plain);
  const wrong = await api.request('queries/top-documents', {
    ...request,
    query: 'x',
    facets: [{ year: { ranges: [] } }],
  });
  t.equal(wrong.status, 400);
});

await t.test('facets count no hidden and no expired documents', async (t) => {
  const restriction = { collection_names: null, filter: { final: true } };
  const restricted = await createClient(server, organization_id, { restriction });
  const facets = ['year', 'list:none'];
  const request = {
    collection_name: 'keys',
    query: null,
    k: 10,
    facets,
    filter: { year: { $exists: true } },
  };
  t.match(await restricted.call('queries/top-documents', request), {
    facets: [
      {
        values: [
          { value: 1999, count: 1 },
          { value: 2000.5, count: 1 },
        ],
        num_values: 2,
      },
      { values: [], num_values: 0 },
    ],
  });
  await api.call('collections/add-collection', { collection_name: 'expiring' });
  const expires_at = new Date(Date.now() + 4_000).toISOString();
  const content = text('Granite.');
  for (const document of [
    { path: 'a', content, metadata: { year: 1 }, expires_at },
    { path: 'b', content, metadata: { year: 2 } },
  ])
    await api.call('documents/add-document', { collection_name: 'expiring', ...document, wait: true });
  const counted = { collection_name: 'expiring', query: null, k: 10, facets: ['year'] };
  await waitFor('the expiry', async () => {
    const reply = (await api.call('queries/top-documents', counted)) as unknown as {
      results: unknown[];
      facets: { num_values: number }[];
    };
    t.ok(reply.facets[0]!.num_values <= reply.results.length, 'no more values than documents');
    return reply.results.length === 1 && reply.facets[0]!.num_values === 1 ? true : null;
  });
});

await t.test('values that cannot be stored are rejected', async (t) => {
  const add = (metadata: unknown) =>
    api.request('documents/add-document', {
      collection_name: 'typed',
      path: 'bad',
      content: text('x'),
      metadata,
    });
  for (const [value, status] of [
    [{ lat: 91, lon: 0 }, 400],
    [{ lat: 0, lon: -181 }, 400],
    [{ lat: 0 }, 422],
    [{ lat: '1', lon: 2 }, 422],
    [{ lat: 1, lon: 2, alt: 3 }, 422],
    [null, 422],
    [[1], 422],
  ] as const)
    t.equal((await add({ a: value })).status, status, JSON.stringify(value));
  t.equal((await add({ 'list:a': 1 })).status, 400);
  const large = await fetch(`${server.url}/v1/documents/add-document`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"collection_name":"typed","path":"bad","content":{"type":"text","text":"x"},"metadata":{"a":1e400}}',
  });
  t.ok(large.status === 400 || large.status === 422, `1e400: ${large.status}`);
  t.notOk((await api.paths('typed')).includes('bad'));
});
