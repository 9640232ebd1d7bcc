import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { queryOperations } from './library-fixture.ts';
import { joinSharedServer } from './shared-server.ts';
import { createClient } from './tenant.ts';

/** Results, listings and lists in the order of metadata, compared with a plain sort of the reply without an order. */

t.setTimeout(testFileMsMax);
const { server, api, organization_id } = await joinSharedServer();
const restriction = { collection_names: null, filter: { team: 'odd' } };
const restricted = await createClient(server, organization_id, { restriction });

type Metadata = Record<string, string | number>;
interface Level {
  readonly field: string;
  readonly order?: 'asc' | 'desc';
}

const day = 86_400_000;
const origin = '2026-03-31T00:00:00Z';
/** Offsets change the order of the texts of dates, not that of their instants. */
const offsets = ['Z', '+09:00', '-07:00'];
const words = ['granite', 'slate', 'marble', 'gravel', 'sandstone'];
const documents = Array.from({ length: 130 }, (_, i) => {
  const time = Date.parse(origin) - ((i * 37) % 60) * day;
  const published = `${new Date(time).toISOString().slice(0, 19)}${offsets[i % 3]}`;
  const metadata: Metadata = {
    team: i % 2 === 0 ? 'even' : 'odd',
    ...(i % 7 === 0 ? {} : { year: 2000 + ((i * 11) % 9) }),
    ...(i % 5 === 0 ? {} : { published }),
  };
  const repeated = Array.from({ length: 1 + (i % 13) }, (_, at) => words[(i + at) % words.length]);
  return {
    path: `${i}.txt`,
    metadata,
    content: { type: 'text', text: `The quarry sells ${repeated.join(' and ')}, lot ${i}.` } as const,
  };
});
const metadataOf = new Map(documents.map(({ path, metadata }) => [path, metadata]));
const collections = ['one', 'eight'];
for (const collection_name of collections) {
  const metadata_schema = { published: 'date' };
  const num_shards = collection_name === 'one' ? 1 : 8;
  await api.call('collections/add-collection', { collection_name, num_shards, metadata_schema });
  await api.addAll(collection_name, documents);
}

function keyOf(path: string, field: string): string | number | undefined {
  const value = metadataOf.get(path)?.[field];
  return field === 'published' && value !== undefined ? Date.parse(String(value)) : value;
}

/** Stable sort; a missing value is last in both directions. */
function plainSort<T extends { readonly path: string }>(items: readonly T[], levels: readonly Level[]): T[] {
  return [...items].sort((one, other) => {
    for (const { field, order } of levels) {
      const [a, b] = [keyOf(one.path, field), keyOf(other.path, field)];
      if (a === b) continue;
      if (a === undefined || b === undefined) return a === undefined ? 1 : -1;
      return a < b === (order !== 'desc') ? -1 : 1;
    }
    return 0;
  });
}

const orders: readonly (readonly Level[])[] = [
  [{ field: 'year', order: 'desc' }],
  [{ field: 'published' }],
  [{ field: 'team', order: 'desc' }, { field: 'published', order: 'desc' }, { field: 'year' }],
];

async function search(operation: (typeof queryOperations)[number], body: object) {
  const reply = await api.call(operation, { query: 'granite and slate', ...body });
  return reply.results as readonly { path: string; score: number }[];
}

await t.test('sort orders the 100 best results of a query', async (t) => {
  const variants = [
    {},
    { max_per_document: 1, min_score: 0.4 },
    { filter: { year: { $gte: 2002, $lt: 2007 } } },
  ];
  for (const collection_name of collections)
    for (const [i, operation] of queryOperations.entries())
      for (const [at, sort] of orders.entries()) {
        const body = { collection_name, ...variants[(i + at) % 3], precise_responses: at === 2 };
        const best = await search(operation, { ...body, k: 100 });
        t.ok(best.length > 20);
        const name = `${operation} ${JSON.stringify({ ...body, sort })}`;
        for (const k of [7, 100])
          t.same(await search(operation, { ...body, k, sort }), plainSort(best, sort).slice(0, k), name);
        t.same(await search(operation, { ...body, k: 7, sort: [] }), best.slice(0, 7), 'no order');
      }
  const all = await search('queries/top-documents', { collection_name: 'one', k: 120 });
  const sorted = await search('queries/top-documents', { collection_name: 'one', k: 120, sort: orders[0] });
  t.same(sorted, plainSort(all, orders[0]!), 'as many as k, if that is more');
});

await t.test('sort orders all documents of a listing that the key may read', async (t) => {
  for (const collection_name of collections)
    for (const sort of orders) {
      const request = { collection_name, query: null, k: 130, sort };
      const { results } = await api.call('queries/top-documents', request);
      t.equal(results.length, documents.length);
      checkOrder(t, results, sort);
      const visible = await restricted.call('queries/top-documents', request);
      t.equal(visible.results.length, 65, 'only the documents of the key');
      checkOrder(t, visible.results, sort);
      const first = await api.call('queries/top-documents', {
        ...request,
        k: 10,
        filter: { year: { $lt: 2004 } },
      });
      const matching = results.filter(({ path }) => Number(keyOf(path, 'year') ?? 9999) < 2004);
      t.same(first.results, matching.slice(0, 10), 'the first of all that match the filter');
    }
});

function checkOrder(t: Test, results: readonly { path: string }[], levels: readonly Level[]): void {
  const keys = (items: readonly { path: string }[]) =>
    items.map(({ path }) => levels.map(({ field }) => keyOf(path, field) ?? null));
  t.same(keys(results), keys(plainSort(results, levels)), JSON.stringify(levels));
  t.equal(new Set(results.map(({ path }) => path)).size, results.length, 'each document once');
}

await t.test('boost multiplies the scores of the 100 best results', async (t) => {
  for (const collection_name of collections)
    for (const [i, operation] of queryOperations.entries()) {
      const body = { collection_name, precise_responses: i === 2 };
      const best = await search(operation, { ...body, k: 100 });
      for (const weight of [undefined, 0.4]) {
        const factorOf = (path: string) => {
          const time = keyOf(path, 'published');
          const decay =
            time === undefined ? 0 : 2 ** (-Math.max(0, Date.parse(origin) - Number(time)) / (30 * day));
          return 1 - (weight ?? 1) + (weight ?? 1) * decay;
        };
        const expected = best
          .map(({ path, score }) => ({ path, score: score * factorOf(path), factor: factorOf(path) }))
          .sort((a, b) => b.score - a.score);
        const boost = { field: 'published', half_life: '30d', origin, weight };
        const reply = await api.call(operation, {
          ...body,
          query: 'granite and slate',
          k: 9,
          boost,
          explain: true,
        });
        t.equal(reply.results.length, 9);
        for (const [at, result] of reply.results.entries()) {
          const { score, explain } = result as typeof result & { explain: { boost: number } };
          t.ok(Math.abs(score - expected[at]!.score) < 1e-9, `${operation} ${weight} ${at}`);
          t.ok(Math.abs(explain.boost - factorOf(result.path)) < 1e-9);
        }
        const minimum = expected[4]!.score;
        const fewer = await search(operation, { ...body, k: 9, boost, min_score: minimum - 1e-9 });
        t.equal(fewer.length, expected.filter(({ score }) => score > minimum - 1e-9).slice(0, 9).length);
      }
    }
});

await t.test('groups hold the best results of each value', async (t) => {
  for (const [i, operation] of queryOperations.entries())
    for (const sort of [[], [{ field: 'published', order: 'desc' }] as const]) {
      const body = { collection_name: 'eight', precise_responses: i === 2 };
      const best = plainSort(await search(operation, { ...body, k: 100 }), sort);
      const yearOf = (path: string) => keyOf(path, 'year') ?? null;
      const years = [...new Set(best.map(({ path }) => yearOf(path)))].slice(0, 6);
      const expected = years.map((year) => best.filter(({ path }) => yearOf(path) === year).slice(0, 2));
      const request = {
        ...body,
        query: 'granite and slate',
        k: 6,
        sort,
        group_by: { field: 'year', size: 2 },
      };
      const reply = await api.call(operation, request);
      t.same(reply.results, expected.flat(), operation);
      t.same(
        (reply as unknown as { groups: object }).groups,
        years.map((value, at) => ({ value, results: expected[at]!.length })),
      );
    }
});

await t.test('pages of results are parts of one list', async (t) => {
  const boost = { field: 'published', half_life: '30d', origin };
  const variants = [
    {},
    { sort: orders[2] },
    { boost, min_score: 0.2 },
    { max_per_document: 1, min_score: 0.5 },
  ];
  for (const collection_name of collections)
    for (const [i, operation] of queryOperations.entries())
      for (const variant of variants) {
        const body = { collection_name, precise_responses: i === 2, ...variant };
        const isOrdered = 'sort' in variant || 'boost' in variant;
        const whole = await search(operation, { ...body, k: isOrdered ? 100 : 128 });
        const found: object[] = [];
        let cursor: string | null = null;
        do {
          const page: object = { ...body, query: 'granite and slate', k: 30, cursor, include_cursor: true };
          const reply = (await api.call(operation, page)) as unknown as {
            results: object[];
            next_cursor: string | null;
          };
          found.push(...reply.results);
          cursor = reply.next_cursor;
        } while (cursor !== null && found.length < 100);
        t.same(found, whole.slice(0, found.length), `${operation} ${JSON.stringify(body)}`);
        t.ok(found.length === whole.length || found.length >= 100, `all of ${whole.length}: ${found.length}`);
      }
  const listing = { collection_name: 'eight', query: null, k: 100, sort: orders[0], include_cursor: true };
  const first = (await api.call('queries/top-documents', listing)) as unknown as { next_cursor: string };
  const { next_cursor: cursor } = first;
  const second = await api.call('queries/top-documents', { ...listing, cursor });
  const whole = await api.call('queries/top-documents', { ...listing, k: 130, include_cursor: false });
  t.notOk('next_cursor' in whole);
  t.same(second.results, whole.results.slice(100), 'a listing continues');
  t.equal((second as unknown as { next_cursor: null }).next_cursor, null);
});

await t.test('lists of documents in the order of metadata, with cursors', async (t) => {
  const byPath = documents.map(({ path }) => ({ path })).sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const sort of orders) {
    const expected = plainSort(byPath, sort).map(({ path }) => path);
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const request: object = { collection_name: 'eight', sort, cursor, limit: 50 };
      const page = await api.call('documents/get-document-info-list', request);
      found.push(...page.documents.map(({ path }) => path));
      cursor = page.next_cursor!;
    } while (cursor !== null);
    t.same(found, expected, JSON.stringify(sort));
    const own = await restricted.call('documents/get-document-info-list', { collection_name: 'one', sort });
    t.same(
      own.documents.map(({ path }) => path),
      expected.filter((path) => metadataOf.get(path)!.team === 'odd'),
    );
  }
});

await t.test('facets of lists count all documents that the key may read', async (t) => {
  const ranges = [
    { to: '2026-03-01' },
    { from: '2026-03-01', to: '2026-03-20T12:00:00Z' },
    { from: { $date: origin } },
  ];
  const facets = [
    'team',
    { year: { limit: 2 } },
    { published: { ranges } },
    { year: { ranges: [{ from: 2004 }] } },
  ];
  for (const client of [api, restricted]) {
    const listing = { collection_name: 'eight', query: null, k: 1, facets };
    const indexed = (await client.call('queries/top-documents', listing)) as unknown as { facets: object[] };
    const list = { collection_name: 'eight', limit: 1, facets };
    const listed = (await client.call('documents/get-document-info-list', list)) as unknown as {
      documents: object[];
      facets: object[];
    };
    t.equal(listed.documents.length, 1);
    t.same(listed.facets, indexed.facets, 'as in the index');
    const visible = documents.filter(({ metadata }) => client === api || metadata.team === 'odd');
    const count = (accepts: (time: number) => boolean) =>
      visible.filter(
        ({ path }) => keyOf(path, 'published') !== undefined && accepts(Number(keyOf(path, 'published'))),
      ).length;
    const [start, middle] = [Date.parse('2026-03-01'), Date.parse('2026-03-20T12:00:00Z')];
    t.same(listed.facets[2], {
      field: 'published',
      ranges: [
        { to: '2026-03-01', count: count((time) => time < start) },
        {
          from: '2026-03-01',
          to: '2026-03-20T12:00:00Z',
          count: count((time) => time >= start && time < middle),
        },
        { from: origin, count: count((time) => time >= Date.parse(origin)) },
      ],
    });
  }
  const plain = await api.call('documents/get-document-info-list', { collection_name: 'eight', limit: 1 });
  t.same(Object.keys(plain), ['documents']);
});

await t.test('invalid orders are rejected', async (t) => {
  const query = { collection_name: 'one', query: 'granite', k: 1 };
  const refused: readonly (readonly [string, object, number])[] = [
    ['queries/top-snippets', { ...query, sort: [{ field: 'list:a' }] }, 400],
    ['queries/top-pages', { ...query, sort: Array.from('abcde', (field) => ({ field })) }, 400],
    ['queries/top-snippets', { ...query, sort: [{ field: 'year', order: 'down' }] }, 422],
    ['queries/top-snippets', { ...query, sort: 'year' }, 422],
    ['queries/top-documents', { ...query, boost: { field: 'published', half_life: 'soon' } }, 400],
    ['queries/top-documents', { ...query, boost: { field: 'published' } }, 422],
    ['queries/top-documents', { ...query, group_by: { field: 'list:a' } }, 400],
    ['queries/top-documents', { ...query, query: null, group_by: { field: 'year' } }, 400],
    ['queries/top-documents', { ...query, include_cursor: true, group_by: { field: 'year' } }, 400],
    ['queries/top-documents', { ...query, cursor: 'bnVsbA' }, 400],
    ['queries/top-snippets', { ...query, cursor: Buffer.from('results:128').toString('base64url') }, 400],
    ['queries/top-documents', { ...query, query: null, boost: { field: 'published', half_life: '1d' } }, 400],
    ['documents/get-document-info-list', { collection_name: 'one', sort: orders[0], sort_by: 'size' }, 400],
    ['documents/get-document-info-list', { collection_name: 'one', sort: orders[0], cursor: 'bnVsbA' }, 400],
    ['documents/get-document-info-list', { collection_name: 'one', sort: orders[0], path_gt: 'a' }, 400],
    ['documents/get-document-info-list', { collection_name: 'one', facets: [{ year: { ranges: [] } }] }, 400],
  ];
  for (const [operation, body, status] of refused)
    t.equal((await api.request(operation, body)).status, status, `${operation} ${JSON.stringify(body)}`);
});
