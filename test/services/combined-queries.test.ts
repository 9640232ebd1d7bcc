import { AppError } from '../../src/core/app-error.ts';
import { queryLimits } from '../../src/core/query-limits.ts';
import { DocumentUrls } from '../../src/services/document-urls.ts';
import { tokenSecret } from '../simulate/server-components.ts';
import t from '../support/tap.ts';
import { addTextDocument, createQueryServices, createServices, serviceCallFor } from './service-fixture.ts';

const first = { collection_name: 'papers', k: 5, query: 'salted herring' };
const many = { ...first, collection_names: ['others'], queries: ['trout', 'river'] };

async function createTwoCollections(t: Parameters<typeof createServices>[0]) {
  const parts = await createServices(t);
  await parts.collections.addCollection(serviceCallFor(), { collection_name: 'others' });
  await addTextDocument(parts, 'herring.txt', 'salted herring');
  await addTextDocument(parts, 'trout.txt', 'trout in the river', { collection_name: 'others' });
  return parts;
}

t.test('each query of each collection is recorded, and results and time once', async (t) => {
  const parts = await createTwoCollections(t);
  const reply = (await parts.queries.topSnippets(serviceCallFor(), many)).parse();
  t.same(reply.results.map(({ path, collection_name }) => `${collection_name} ${path}`).sort(), [
    'others trout.txt',
    'papers herring.txt',
  ]);
  const recorded = parts.recordedUsage as {
    collectionId: string;
    queryBytes: number;
    queriedBytes: number;
    results: number;
    timeTakenMs: number;
  }[];
  t.same(
    recorded.map(({ queryBytes }) => queryBytes),
    [14, 5, 5, 14, 5, 5],
  );
  t.equal(new Set(recorded.map(({ collectionId }) => collectionId)).size, 2);
  t.same(
    recorded.map(({ results }) => results),
    [1, 0, 0, 1, 0, 0],
  );
  t.same(
    recorded.map(({ queriedBytes }) => queriedBytes),
    [14, 14, 14, 18, 18, 18],
  );
  t.equal(new Set(recorded.map(({ timeTakenMs }) => timeTakenMs)).size, 1);
  t.match(
    parts.recordedModelUsage,
    ['salted herring', 'trout', 'river'].map(({ length }) => ({ kind: 'embed', bytes: length })),
    'each query is embedded once',
  );
});

t.test('reranked texts are recorded as one call', async (t) => {
  const parts = await createTwoCollections(t);
  await parts.queries.topSnippets(serviceCallFor(), { ...many, reranker: 'zerank-2' });
  const reranks = (parts.recordedModelUsage as { kind: string }[]).filter(({ kind }) => kind === 'rerank');
  t.match(reranks, [{ kind: 'rerank', bytes: 24, documents: 6 }]);
  t.equal(reranks.length, 1);
});

t.test(
  'all queries but the first are charged before the search, which does not run if they are rejected',
  async (t) => {
    const parts = await createTwoCollections(t);
    const charges: number[] = [];
    const { queries } = createQueryServices(parts.first, new DocumentUrls(tokenSecret), {
      chargeQueries: (_organizationId, count) => void charges.push(count),
    });
    await queries.topSnippets(serviceCallFor(), first);
    await queries.topSnippets(serviceCallFor(), { ...first, highlights: true, diversity: 0.5 });
    await queries.topSnippets(serviceCallFor(), { ...first, queries: ['trout'] });
    await queries.topDocuments(serviceCallFor(), many);
    t.same(charges, [1, 5]);
    const refusing = createQueryServices(parts.first, new DocumentUrls(tokenSecret), {
      chargeQueries: () => {
        throw new AppError('rate_limited', 'too many');
      },
    });
    await t.rejects(refusing.queries.topSnippets(serviceCallFor(), many), { code: 'rate_limited' });
    t.same(refusing.recordedUsage, []);
    t.ok(queryLimits.searchesPerRequestMax >= 6);
  },
);

t.test('the log of slow queries counts queries and names collections by ID', async (t) => {
  const parts = await createTwoCollections(t);
  const call = serviceCallFor();
  await parts.queries.topPages(call, many);
  t.match(parts.slowQueryLines, [{ queries: 6, query: 'salted herring', collection: 'papers' }]);
  t.equal((parts.slowQueryLines[0]!.collectionIds as string[]).length, 2);
  await parts.queries.topPages({ ...call, principal: { ...call.principal, zdr: true } }, many);
  t.notMatch(JSON.stringify(parts.slowQueryLines[1]), /herring|trout|river|papers|others/);
});

t.test('collections with vectors of different models are searched by words only', async (t) => {
  const parts = await createTwoCollections(t);
  const own = { collection_name: 'own', embedding_model: 'own', dimensions: 4 };
  await parts.collections.addCollection(serviceCallFor(), own);
  const mixed = { ...first, collection_names: ['own'] };
  await t.rejects(parts.queries.topDocuments(serviceCallFor(), mixed), {
    code: 'bad_request',
    message: /different models/,
  });
  const words = { ...mixed, weights: { lexical: 1, vector: 0 } };
  const { results } = (await parts.queries.topDocuments(serviceCallFor(), words)).parse();
  t.match(results, [{ path: 'herring.txt', collection_name: 'papers' }]);
});
