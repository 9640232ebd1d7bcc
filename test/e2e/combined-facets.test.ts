import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import type { CheckedApiClient } from './checked-api-client.ts';
import { queryOperations } from './library-fixture.ts';
import { joinSharedServer } from './shared-server.ts';
import { createClient } from './tenant.ts';

/** Facets and orders of several collections, compared with a plain scan of all of their documents. */

t.setTimeout(testFileMsMax);
const { server, api, organization_id } = await joinSharedServer();
const restricted = await createClient(server, organization_id, {
  restriction: { collection_names: null, filter: { team: 'odd' } },
});

type Value = string | number | boolean;
type Metadata = Record<string, Value | string[]>;
interface Entry {
  readonly path: string;
  readonly collection_name: string;
  readonly metadata: Metadata;
}

const words = ['granite', 'slate', 'marble', 'gravel', 'sandstone'];
/** The last one is not a date, which the schema of a collection rejects. */
const dates = ['2026-03-31', '2026-03-31T23:30:00-02:00', '2026-04-01T00:30:00+02:00', '2026-05-01', 'May'];
/** `bare` has none of the counted fields, and the others have different types of them. */
const names = ['one', 'eight', 'bare', 'empty'];
const all: readonly Entry[] = names.slice(0, 3).flatMap((collection_name, c) =>
  Array.from({ length: c === 1 ? 90 : 40 }, (_, i): Entry => {
    const at = i + 7 * c;
    const team = i % 2 === 0 ? 'even' : 'odd';
    const counted: Metadata = {
      ...(at % 7 === 0 ? {} : { year: at % 11 === 0 ? String(2000 + (at % 3)) : 2000 + ((at * 11) % 23) }),
      ...(at % 5 === 0 ? {} : { published: dates[at % (c === 1 ? 4 : 5)]! }),
      ...(at % 3 === 0 ? { final: at % 2 === 0 } : {}),
      ...(at % 4 === 0 ? { 'list:tags': ['a', 'b', 'c'].slice(0, at % 4) } : { 'list:tags': [`t${at % 6}`] }),
      author: `author ${(at * 5) % 19}`,
    };
    return { path: `${i}.txt`, collection_name, metadata: { team, ...(c === 2 ? {} : counted) } };
  }),
);
for (const collection_name of names) {
  const num_shards = collection_name === 'eight' ? 8 : 1;
  const schema = collection_name === 'eight' ? { metadata_schema: { published: 'date' } } : {};
  await api.call('collections/add-collection', { collection_name, num_shards, ...schema });
  const own = all.filter((entry) => entry.collection_name === collection_name);
  await api.addAll(
    collection_name,
    own.map(({ path, metadata }, i) => {
      const text = `The quarry sells ${Array(1 + (i % 9))
        .fill(words[i % words.length])
        .join(' ')}, lot ${i}.`;
      return { path, metadata, content: { type: 'text', text } };
    }),
  );
}
const others = { collection_name: 'bare', collection_names: ['one', 'eight', 'empty'] };

interface Reply {
  readonly results: readonly { readonly path: string; readonly collection_name: string }[];
  readonly facets?: readonly {
    readonly values: readonly { readonly value: Value; readonly count: number }[];
  }[];
  readonly groups?: readonly unknown[];
  readonly next_cursor?: string | null;
}

/** Runs a query in all collections. */
async function search(
  client: CheckedApiClient,
  operation: (typeof queryOperations)[number],
  fields: object,
): Promise<Reply> {
  const { status, body } = await client.request(operation, { ...others, ...fields });
  if (status !== 200) throw new Error(`${operation} returned ${status}: ${JSON.stringify(body)}`);
  return body as unknown as Reply;
}

const valuesOf = (entry: Entry, field: string): readonly Value[] => [
  ...new Set([entry.metadata[field] ?? []].flat()),
];
const countOf = (entries: readonly Entry[], field: string, accepts: (value: Value) => boolean) =>
  entries.filter((entry) => valuesOf(entry, field).some(accepts)).length;

/** Strings, then numbers, then booleans. */
const typeOrder = ['string', 'number', 'boolean'];
function compareValues(a: Value, b: Value): number {
  if (a === b) return 0;
  const byType = typeOrder.indexOf(typeof a) - typeOrder.indexOf(typeof b);
  return byType !== 0 ? byType : a < b ? -1 : 1;
}

function countValues(entries: readonly Entry[], field: string, limit: number) {
  const distinct = [...new Set(entries.flatMap((entry) => valuesOf(entry, field)))];
  const values = distinct
    .map((value) => ({ value, count: countOf(entries, field, (other) => other === value) }))
    .sort((a, b) => b.count - a.count || compareValues(a.value, b.value))
    .slice(0, limit);
  return { field, values, num_values: distinct.length };
}

const since = Date.parse('2026-03-31T22:30:00Z');
const isSince = (value: Value) => Date.parse(String(value)) >= since;
const countPublished = (entries: readonly Entry[]) => [
  countOf(entries, 'published', (value) => value !== 'May' && isSince(value)),
  countOf(entries, 'published', (value) => value !== 'May' && !isSince(value)),
];
const facets = [
  'author',
  'year',
  { author: { limit: 100 } },
  { 'list:tags': { limit: 3 } },
  'final',
  'missing',
  { year: { ranges: [{ to: 2005 }, { from: 2005, to: 2020 }, { from: '2001' }] } },
  { published: { ranges: [{ from: '2026-03-31T22:30:00Z' }, { to: '2026-03-31T22:30:00Z' }] } },
];

function countAll(entries: readonly Entry[]) {
  const isNumber = (accepts: (value: number) => boolean) => (value: Value) =>
    typeof value === 'number' && accepts(value);
  const published = countPublished(entries);
  return [
    countValues(entries, 'author', 10),
    countValues(entries, 'year', 10),
    countValues(entries, 'author', 100),
    countValues(entries, 'list:tags', 3),
    countValues(entries, 'final', 10),
    countValues(entries, 'missing', 10),
    {
      field: 'year',
      ranges: [
        {
          to: 2005,
          count: countOf(
            entries,
            'year',
            isNumber((year) => year < 2005),
          ),
        },
        {
          from: 2005,
          to: 2020,
          count: countOf(
            entries,
            'year',
            isNumber((year) => year >= 2005 && year < 2020),
          ),
        },
        {
          from: '2001',
          count: countOf(entries, 'year', (year) => typeof year === 'string' && year >= '2001'),
        },
      ],
    },
    {
      field: 'published',
      ranges: [
        { from: '2026-03-31T22:30:00Z', count: published[0] },
        { to: '2026-03-31T22:30:00Z', count: published[1] },
      ],
    },
  ];
}

await t.test('facets of several collections count the documents of all of them', async (t) => {
  const cases = [
    [api, null, () => true],
    [
      api,
      { year: { $gte: 2010 } },
      ({ metadata }) => typeof metadata.year === 'number' && metadata.year >= 2010,
    ],
    [api, { 'list:tags': { $in: ['t1', 'none'] } }, (entry) => valuesOf(entry, 'list:tags').includes('t1')],
    [restricted, null, ({ metadata }) => metadata.team === 'odd'],
    [restricted, { final: true }, ({ metadata }) => metadata.team === 'odd' && metadata.final === true],
  ] as const satisfies readonly (readonly [CheckedApiClient, object | null, (entry: Entry) => boolean])[];
  for (const [client, filter, accepts] of cases) {
    const expected = countAll(all.filter(accepts));
    const name = `${client === api ? 'all' : 'restricted'} ${JSON.stringify(filter)}`;
    for (const operation of queryOperations)
      for (const query of operation === 'queries/top-documents' ? [null, 'marble'] : ['marble']) {
        const reply = await search(client, operation, { query, k: 2, filter, facets });
        t.same(reply.facets, expected, `${operation} ${query} ${name}`);
      }
  }
});

await t.test('documents that have expired are not counted', async (t) => {
  const path = 'expired.txt';
  const count = async () => {
    const fields = { query: null, k: 1, facets: ['team'] };
    const [facet] = (await search(api, 'queries/top-documents', fields)).facets!;
    return facet!.values.find(({ value }) => value === 'even')!.count;
  };
  const before = await count();
  const content = { type: 'text', text: 'soon gone' } as const;
  const added = { collection_name: 'eight', path, content, metadata: { team: 'even' }, wait: true };
  await api.call('documents/add-document', added);
  t.equal(await count(), before + 1);
  const expires_at = new Date(Date.now() + 2_000).toISOString();
  await api.call('documents/update-document', { collection_name: 'eight', path, expires_at });
  await waitUntil('the expiration of a document', async () => (await count()) === before);
});

interface Level {
  readonly field: string;
  readonly order?: 'asc' | 'desc';
}

/** Dates by instant; other values of `published` are missing. */
function keyOf({ metadata }: Entry, field: string): Value | undefined {
  const value = metadata[field] as Value | undefined;
  if (field !== 'published' || value === undefined) return value;
  return value === 'May' ? undefined : Date.parse(String(value));
}

function plainSort<T>(items: readonly T[], levels: readonly Level[], entryOf: (item: T) => Entry): T[] {
  return [...items].sort((one, other) => {
    for (const { field, order } of levels) {
      const [a, b] = [keyOf(entryOf(one), field), keyOf(entryOf(other), field)];
      if (a === b) continue;
      if (a === undefined || b === undefined) return a === undefined ? 1 : -1;
      return compareValues(a, b) * (order === 'desc' ? -1 : 1);
    }
    return 0;
  });
}

const orders: readonly (readonly Level[])[] = [
  [{ field: 'year', order: 'desc' }],
  [{ field: 'published' }],
  [{ field: 'team', order: 'desc' }, { field: 'published', order: 'desc' }, { field: 'year' }],
];
const byName = new Map(all.map((entry) => [`${entry.collection_name}/${entry.path}`, entry]));
const nameOf = ({ path, collection_name }: Reply['results'][number]) => `${collection_name}/${path}`;
const entryOf = (result: Reply['results'][number]) => byName.get(nameOf(result))!;

await t.test('a listing of several collections is in the order of metadata', async (t) => {
  for (const sort of orders)
    for (const [client, team] of [
      [api, ['even', 'odd']],
      [restricted, ['odd']],
    ] as const) {
      // Documents were added in the order of `all`, which decides ties.
      const matching = all.filter(({ metadata }) => (team as readonly unknown[]).includes(metadata.team));
      const expected = plainSort(matching, sort, (entry) => entry).map(nameOf);
      const found: string[] = [];
      let cursor: string | null = null;
      do {
        const page: { cursor?: string } = cursor === null ? {} : { cursor };
        const fields = { query: null, k: 64, sort, include_cursor: true, ...page };
        const reply = await search(client, 'queries/top-documents', fields);
        found.push(...reply.results.map(nameOf));
        cursor = reply.next_cursor ?? null;
      } while (cursor !== null);
      t.same(found, expected, JSON.stringify(sort));
    }
});

await t.test('the best results of several collections are ordered and grouped by metadata', async (t) => {
  for (const operation of queryOperations) {
    const request = { query: 'marble lot', k: 100 };
    const best = (await search(api, operation, request)).results;
    t.ok(new Set(best.map(({ collection_name }) => collection_name)).size === 3);
    for (const sort of orders) {
      const { results } = await search(api, operation, { ...request, k: 20, sort });
      t.same(results.map(nameOf), plainSort(best, sort, entryOf).slice(0, 20).map(nameOf), operation);
    }
    const group_by = { field: 'team', size: 2 };
    const grouped = await search(api, operation, { ...request, group_by });
    const [first, ...rest] = [...new Set(best.map((result) => entryOf(result).metadata.team))].map((team) =>
      best.filter((result) => entryOf(result).metadata.team === team).slice(0, 2),
    );
    t.same(grouped.results.map(nameOf), [...first!, ...rest.flat()].map(nameOf), operation);
    t.equal(grouped.groups!.length, 2);
  }
});

await t.test(
  'a field that one of several collections declares as a date is one in all of them',
  async (t) => {
    const ofBoost = { ...others, query: 'marble lot', k: 5, boost: { field: 'published', half_life: '1d' } };
    t.equal((await api.request('queries/top-documents', ofBoost)).status, 200);
    const update = { collection_name: 'empty', metadata_schema: { year: 'number', place: 'geo' } };
    t.equal((await api.request('collections/update-collection', update)).status, 200);
    const rejected: readonly (readonly [object, RegExp])[] = [
      [{ boost: { field: 'year', half_life: '1d' } }, /declares "year" as "number"/],
      [{ sort: [{ field: 'place' }] }, /the field "place" has points/],
      [{ group_by: { field: 'place' } }, /the field "place" has points/],
      [{ facets: [{ published: { ranges: [{ from: 'May' }] } }] }, /a date must be an RFC 3339 date/],
    ];
    for (const [fields, message] of rejected) {
      const { status, body } = await api.request('queries/top-documents', {
        ...others,
        query: 'a',
        k: 1,
        ...fields,
      });
      t.equal(status, 400);
      t.match(body, { detail: message });
    }
  },
);
