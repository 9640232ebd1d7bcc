import { findCuration, withoutHidden } from '../../src/search/curation.ts';
import { defaultControl, type SearchRequest } from '../../src/search/query-request.ts';
import type { HitOrigin } from '../../src/search/search-result.ts';
import { type IngestComponents, openComponents, textDocument } from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import { testEventMsMax } from '../timeouts.ts';
import { addDocuments, createSearch, granularities, searchRequest } from './search-fixtures.ts';

const documents = {
  'a.txt': ['herring in cream', 'more herring with onions'],
  'b.txt': ['herring of the north sea'],
  'c.txt': ['trout in rivers', 'trout that met a herring'],
  'd.txt': ['bread and butter', 'rye flour and salt'],
};

async function open(t: Parameters<typeof openComponents>[0]) {
  const first = await openComponents(t);
  await addDocuments(first, documents);
  return { first, search: createSearch(first, {}) };
}

function curatedRequest(
  first: IngestComponents,
  { pinned = [], hidden = [] }: { readonly pinned?: readonly string[]; readonly hidden?: readonly string[] },
  fields: Partial<SearchRequest> = {},
): SearchRequest {
  const versionOf = (path: string) => first.documents.get(first.papers.collectionId, path)!.live!;
  const curation = {
    pinned: pinned.map(versionOf),
    hidden: hidden.map(versionOf),
    hiddenPaths: new Set(hidden),
  };
  const request = searchRequest(first, fields);
  return { ...request, curation, filter: withoutHidden(request.filter, curation) };
}

const pathsOf = (hits: readonly { readonly version: { readonly path: string } }[]) =>
  hits.map(({ version }) => version.path);
/** Identifies a result of any kind. */
const keyOf = (hit: { readonly version: { readonly path: string }; readonly origin: HitOrigin }) =>
  JSON.stringify([hit.version.path, 'pageIndex' in hit ? hit.pageIndex : hit.origin.location]);
const lexical = { ...defaultControl, weights: { lexical: 1, vector: 0 } };

t.test('a rule is found by the words of the query', async (t) => {
  const rule = { queries: ['Where is my refund?', 'café'], pinned: ['a.txt'] };
  const rules = [rule, { queries: ['C++'], hidden: ['a.txt'] }];
  t.equal(findCuration(rules, 'where  is MY refund'), rule);
  t.equal(findCuration(rules, 'Cafe!'), rule);
  t.equal(findCuration(rules, 'C++'), rules[1]);
  for (const other of ['refund', 'where is my refunds', 'my refund where is', 'c', ''])
    t.equal(findCuration(rules, other), undefined, other);
});

t.test('pinned documents come first, once, and hidden ones are not returned', async (t) => {
  const { first, search } = await open(t);
  for (const control of [defaultControl, lexical]) {
    for (const kind of granularities) {
      const all = (await search[kind](searchRequest(first, { control }))).hits;
      const { hits } = await search[kind](
        curatedRequest(first, { pinned: ['d.txt', 'c.txt'], hidden: ['b.txt'] }, { control }),
      );
      t.same(pathsOf(hits).slice(0, 2), ['d.txt', 'c.txt'], kind);
      t.same(
        hits.map(({ origin }) => origin.pinned ?? false),
        hits.map((_, i) => i < 2),
        kind,
      );
      t.notOk(pathsOf(hits).includes('b.txt'), kind);
      const keys = hits.map(keyOf);
      t.equal(new Set(keys).size, keys.length, `${kind} has no duplicates`);
      const others = (found: typeof hits) =>
        found.filter(({ version, origin }) => !origin.pinned && version.path === 'a.txt').length;
      t.equal(others(hits), others(all), `${kind} keeps the others`);
    }
  }
});

t.test('the best part of a pinned document comes first, or its start if nothing matches', async (t) => {
  const { first, search } = await open(t);
  const request = curatedRequest(first, { pinned: ['c.txt', 'd.txt'] }, { control: lexical });
  const { hits: pages } = await search.searchPages(request);
  t.same(
    pages.slice(0, 2).map(({ version, pageIndex }) => [version.path, pageIndex]),
    [
      ['c.txt', 1],
      ['d.txt', 0],
    ],
  );
  const { hits: snippets } = await search.searchFineSnippets(request);
  t.match(
    snippets.slice(0, 2).map(({ snippet }) => snippet.text),
    [/herring/, /bread/],
  );
  t.equal(pages[1]?.score, 0, 'nothing matches');
});

t.test('the limits of the query apply to pinned documents, except the minimum score', async (t) => {
  const { first, search } = await open(t);
  const pinned = ['d.txt', 'a.txt'];
  const one = { ...lexical, maxPerDocument: 1, minScore: 0.01 };
  for (const kind of granularities) {
    const { hits } = await search[kind](curatedRequest(first, { pinned }, { control: one, k: 3 }));
    t.same(pathsOf(hits).slice(0, 2), pinned, kind);
    t.equal(hits.length, 3, kind);
    t.equal(new Set(pathsOf(hits)).size, 3, kind);
    const few = await search[kind](curatedRequest(first, { pinned }, { k: 1 }));
    t.same(pathsOf(few.hits), ['d.txt'], kind);
  }
});

t.test('a pinned document outside the filter is not returned', async (t) => {
  const { first, search } = await open(t);
  const live = (path: string) => first.documents.get(first.papers.collectionId, path)!.live!;
  const filter = { kind: 'version', operator: 'in', versions: [live('a.txt'), live('c.txt')] } as const;
  for (const kind of granularities) {
    const { hits } = await search[kind](
      curatedRequest(first, { pinned: ['d.txt', 'c.txt'] }, { filter, control: lexical }),
    );
    t.same(new Set(pathsOf(hits)), new Set(['c.txt', 'a.txt']), kind);
    t.equal(pathsOf(hits)[0], 'c.txt', kind);
  }
});

t.test('a hidden document stays hidden when it is replaced during the query', async (t) => {
  const { first, search } = await open(t);
  const request = curatedRequest(first, { pinned: ['c.txt'], hidden: ['b.txt'] }, { control: lexical });
  const { writer, ingest, papers } = first;
  const replacement = { ...textDocument('b.txt', 'a new herring'), overwrite: true };
  const { version } = await writer.add(papers, replacement);
  await ingest.waitUntilSettled(version, AbortSignal.timeout(testEventMsMax));
  for (const kind of granularities) {
    const { hits } = await search[kind](request);
    t.notOk(pathsOf(hits).includes('b.txt'), kind);
  }
});

t.test('pages of results continue after pinned documents', async (t) => {
  const { first, search } = await open(t);
  const pinned = ['d.txt', 'c.txt'];
  for (const kind of granularities) {
    const read = (offset: number, k: number) =>
      search[kind](curatedRequest(first, { pinned }, { k, page: { offset, resultsMax: 100 } }));
    const keysOf = ({ hits }: Awaited<ReturnType<typeof read>>) => hits.map(keyOf);
    const whole = await read(0, 50);
    t.equal(whole.nextCursor, null);
    const parts: string[] = [];
    for (let offset = 0; ; offset += 3) {
      const part = await read(offset, 3);
      parts.push(...keysOf(part));
      if (part.nextCursor === null) break;
    }
    t.same(parts, keysOf(whole), kind);
  }
});

t.test('an order that the query asks for comes before that of the rule', async (t) => {
  const { first, search } = await open(t);
  const rule = { pinned: ['d.txt'], hidden: ['b.txt'] };
  const order = { boost: null, sort: null, groupBy: null };
  const sort = [{ attribute: 'year', isDescending: false, isDate: false }];
  for (const kind of granularities) {
    const sorted = await search[kind](curatedRequest(first, rule, { order: { ...order, sort } }));
    t.notOk(sorted.hits.some(({ origin }) => origin.pinned));
    t.notOk(pathsOf(sorted.hits).includes('b.txt'), kind);
    const diverse = await search[kind](curatedRequest(first, rule, { diversity: 0.5, k: 2 }));
    t.equal(pathsOf(diverse.hits)[0], 'd.txt', kind);
    t.equal(diverse.hits.length, 2);
  }
});
