import { systemRandom } from '../../src/core/ids.ts';
import { toCommonWeights } from '../../src/search/common-weights.ts';
import { defaultControl, type SearchMember } from '../../src/search/query-request.ts';
import { type IngestComponents, openComponents, organizationId } from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import { addDocuments, createSearch, granularities, searchRequest } from './search-fixtures.ts';

/** Adds a collection of documents with one text each, and returns it. */
async function addCollection(
  first: IngestComponents,
  name: string,
  texts: Readonly<Record<string, string>>,
): Promise<SearchMember> {
  await first.addCollection({
    collectionId: systemRandom.uuid(),
    organizationId,
    name,
    shards: 1,
    createdAt: 0,
  });
  const papers = first.collections.find(organizationId, name)!;
  const pages = Object.entries(texts).map(([path, text]) => [path, [text]] as const);
  await addDocuments({ ...first, papers }, Object.fromEntries(pages));
  return { collection: first.collections.findById(papers.collectionId)!, name, filter: null };
}

/** Words of equal length, so that the average length of a row is the same in each collection. */
const sea = {
  'a.txt': 'herring swims north today',
  'b.txt': 'herring and trout today',
  'c.txt': 'herring herring herring today',
};
const river = {
  'd.txt': 'trout swims south today',
  'e.txt': 'bread from the oven',
  'f.txt': 'herring is quite rare',
};

t.test('several collections have the results and scores of one collection with all documents', async (t) => {
  const first = await openComponents(t);
  const one = await addCollection(first, 'one', { ...sea, ...river });
  const members = [await addCollection(first, 'sea', sea), await addCollection(first, 'river', river)];
  const search = createSearch(first, {});
  const controls = [
    defaultControl,
    { ...defaultControl, weights: { lexical: 1, vector: 0 } },
    { ...defaultControl, minScore: 0.4, maxPerDocument: 1 },
  ];
  for (const kind of granularities) {
    for (const control of controls) {
      for (const query of ['herring', 'trout today', 'herrng swims']) {
        for (const reranker of [null, 'zerank-2']) {
          const request = searchRequest(first, { control, query, reranker });
          const alone = await search[kind]({ ...request, collection: one.collection });
          const together = await search[kind]({ ...request, collection: members[0]!.collection, members });
          const scores = ({ hits }: typeof alone) =>
            hits.map(({ version, score }) => `${version.path} ${score.toFixed(4)}`).sort();
          t.same(scores(together), scores(alone), `${kind} ${query} ${JSON.stringify(control)}`);
          t.same(
            together.corrections.map(({ terms }) => terms),
            alone.corrections.map(({ terms }) => terms),
          );
        }
      }
    }
  }
});

t.test('each collection has its filter, and a listing lists all of them', async (t) => {
  const first = await openComponents(t);
  const members = [await addCollection(first, 'sea', sea), await addCollection(first, 'river', river)];
  const search = createSearch(first, {});
  const request = searchRequest(first, { collection: members[0]!.collection, members });
  const collectionsOf = ({ hits }: { hits: readonly { version: { collectionId: string } }[] }) =>
    new Set(hits.map(({ version }) => version.collectionId));
  const ids = members.map(({ collection }) => collection.collectionId);
  t.same(collectionsOf(await search.searchDocuments(request)), new Set(ids));
  const never = { kind: 'compare', attribute: 'none', operator: 'eq', value: 'x' } as const;
  const filtered = { ...request, members: [members[0]!, { ...members[1]!, filter: never }] };
  t.same(collectionsOf(await search.searchDocuments(filtered)), new Set([ids[0]]));
  const { hits } = await search.listDocuments({ ...request, k: 5 });
  t.equal(hits.length, 5);
  t.same(collectionsOf({ hits }), new Set(ids));
  t.same(collectionsOf(await search.listDocuments({ ...filtered, k: 5 })), new Set([ids[0]]));
});

t.test('the weights of words compensate the frequencies of one collection', async (t) => {
  const index = (rows: number, counts: readonly number[]) => ({
    statistics: () => ({ rows }),
    countRowsOfTerms: () => Float64Array.from(counts),
  });
  const terms = [
    { hash: 1n, weight: 1, group: 0 },
    { hash: 2n, weight: 0.8, group: 0 },
    { hash: 3n, weight: 1, group: 1 },
  ];
  const idf = (rows: number, found: number) => Math.log1p((rows - found + 0.5) / (found + 0.5));
  const [many, few] = toCommonWeights(terms, [index(1_000, [900, 10, 0]), index(100, [1, 0, 50])]);
  const common = idf(1_100, 901);
  t.same(
    [many, few].map((weights) => weights!.map((weight) => weight.toFixed(9))),
    [
      [common / idf(1_000, 900), (0.8 * common) / idf(1_000, 900), 1],
      [common / idf(100, 1), (0.8 * common) / idf(100, 1), idf(1_100, 50) / idf(100, 50)],
    ].map((weights) => weights.map((weight) => weight.toFixed(9))),
  );
  t.same(toCommonWeights([], [index(10, [])]), [[]]);
  t.same(toCommonWeights(terms.slice(0, 1), [index(0, [0])]), [[1]]);
});
