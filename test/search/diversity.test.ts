import { diversify, poolSizeForDiversity } from '../../src/search/diversity.ts';
import { defaultControl } from '../../src/search/query-request.ts';
import type { Hit } from '../../src/search/search-result.ts';
import { openComponents } from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import { addDocuments, createSearch, granularities, searchRequest } from './search-fixtures.ts';

/** Hits with scores and vectors of two components; null: no stored vector. */
async function order(
  items: readonly (readonly [name: string, score: number, vector: readonly number[] | null])[],
  options: { readonly k: number; readonly diversity: number },
): Promise<string> {
  const hits = items.map(([path, score], row) => ({
    version: { path },
    score,
    origin: { location: { version: 1, row, fineChunk: null } },
  })) as unknown as (Hit & { readonly version: { readonly path: string } })[];
  const rows = items.map(([, , vector]) => vector);
  const reader = {
    readFineChunks: (_id: string, locations: readonly { readonly row: number }[]) =>
      locations.map(({ row }) => {
        const vector = rows[row];
        return vector == null ? undefined : { terms: new Uint8Array(0), codes: Uint8Array.of(row) };
      }),
  };
  const components = {
    reader,
    decodeVectors: (codes: Uint8Array) => Float32Array.from(rows[codes[0]!]!),
  } as unknown as Parameters<typeof diversify>[0];
  const query = {
    request: { collection: { collectionId: '', dimensions: 2 }, yieldToEventLoop: () => null },
    recorder: { measure: async <T>(_stage: string, work: () => Promise<T>) => work() },
    generation: 0,
  } as unknown as Parameters<typeof diversify>[1];
  return (await diversify(components, query, hits, options)).map(({ version }) => version.path).join('');
}

t.test('a hit that repeats a better one is passed over', async (t) => {
  const items = [
    ['a', 1, [1, 0]],
    ['b', 0.95, [0.99, 0.14]],
    ['c', 0.6, [0, 1]],
    ['d', 0.5, [-1, 0]],
  ] as const;
  t.equal(await order(items, { k: 4, diversity: 0 }), 'abcd');
  t.equal(await order(items, { k: 2, diversity: 0.5 }), 'ac');
  t.equal(await order(items, { k: 4, diversity: 0.5 }), 'acdb');
  t.equal(await order(items, { k: 2, diversity: 0.1 }), 'ab', 'a small weight keeps the better one');
  t.equal(await order(items, { k: 9, diversity: 1 }), 'acdb', 'all hits are returned');
});

t.test('a hit without a vector counts as different, and a zero vector as well', async (t) => {
  const items = [
    ['a', 1, [2, 0]],
    ['b', 0.9, [3, 0]],
    ['c', 0.4, null],
    ['d', 0.3, [0, 0]],
  ] as const;
  t.equal(await order(items, { k: 4, diversity: 0.6 }), 'acdb');
  t.equal(await order([], { k: 3, diversity: 0.6 }), '');
});

t.test('copies of a document leave room for others, at every granularity', async (t) => {
  const first = await openComponents(t);
  const copies = Array.from({ length: 5 }, (_, i) => [`copy-${i}.txt`, ['herring aaa bbb']] as const);
  await addDocuments(first, {
    ...Object.fromEntries(copies),
    'other.txt': ['dddddddd eeeeeeee herring dddddddd eeeeeeee'],
  });
  const search = createSearch(first, {});
  const control = { ...defaultControl, weights: { lexical: 1, vector: 0 } };
  for (const kind of granularities) {
    const request = searchRequest(first, { control, k: 2 });
    const paths = async (diversity: number) =>
      (await search[kind]({ ...request, diversity })).hits.map(({ version }) => version.path);
    t.notOk((await paths(0)).includes('other.txt'), `${kind}: copies come first`);
    const diverse = await paths(0.5);
    t.equal(diverse.length, 2, kind);
    t.ok(diverse.includes('other.txt'), kind);
  }
});

t.test('the pool of candidates is bounded', async (t) => {
  t.same([1, 20, 64, 128].map(poolSizeForDiversity), [64, 80, 256, 256]);
});
