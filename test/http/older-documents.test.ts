import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { contentTable, parts } from '../../src/storage/content-table.ts';
import { openDataDirectory } from '../../src/storage/data-directory.ts';
import { randomProse, seededRandom } from '../chunking/sample-texts.ts';
import { CheckedApiClient } from '../e2e/checked-api-client.ts';
import { TestServer } from '../e2e/server.ts';
import t from '../support/tap.ts';
import { languageSamples } from '../text/language-samples.ts';
import { testFileMsMax } from '../timeouts.ts';

/** Documents that an older build stored without the terms of their fine chunks. */

t.setTimeout(testFileMsMax);

const collection_name = 'leases';
const random = seededRandom(20_261_126);

/** Texts of several chunks: one per language, each with prose in English, and some with pages. */
const documents = Object.entries(languageSamples).map(([language, sample], i) => {
  const pages = Array.from({ length: 6 }, (_, page) => `${sample}\n\n${randomProse(random, 400 * page)}`);
  const content =
    i % 3 === 0
      ? { type: 'text-pages' as const, pages }
      : { type: 'text' as const, text: pages.join('\n\n') };
  return { path: language, content };
});

const queries = [
  'When does the tenant pay the rent?',
  'liability of either party for a breach of the agreement',
  'Wann zahlt der Mieter die Miete?',
  'арендная плата',
  'الإيجار',
  'service service written-notice INV-4711',
];

const variants: readonly (readonly ['queries/top-snippets' | 'queries/top-pages', object])[] = [
  ['queries/top-snippets', { precise_responses: true, explain: true }],
  ['queries/top-snippets', { precise_responses: true, latency_mode: 'high' }],
  ['queries/top-snippets', { precise_responses: true, max_per_document: 2 }],
  ['queries/top-snippets', { precise_responses: true, reranker: 'zerank-2' }],
  ['queries/top-snippets', { precise_responses: true, weights: { lexical: 1, vector: 0 } }],
  ['queries/top-pages', { k: 60 }],
];

/** Returns the results of each query as text. */
async function readReplies(api: CheckedApiClient): Promise<string[]> {
  const replies: string[] = [];
  for (const query of queries) {
    for (const [operation, options] of variants) {
      const { results } = await api.call(operation, { collection_name, query, k: 20, ...options });
      // URLs have the port of the server and an expiration time.
      const isUrl = (name: string) => name.endsWith('_url');
      replies.push(JSON.stringify(results, (name, value) => (isUrl(name) ? undefined : value)));
    }
  }
  return replies;
}

/** Returns the number of stored blocks of fine terms, or deletes them. The server must not run. */
async function countFineTerms({ data: path }: TestServer, action: 'count' | 'delete'): Promise<number> {
  const data = await openDataDirectory({
    path,
    reserveBytes: 0,
    logger: silentLogger,
    random: systemRandom,
  });
  const found = [];
  for await (const key of contentTable.keys(data.store, []))
    if (contentTable.decodeKey(key)[1] === parts.fineTerms) found.push({ type: 'delete' as const, key });
  if (action === 'delete') await data.store.write(found);
  await data.close();
  return found.length;
}

t.test('documents without stored fine terms have the same precise results and pages', async (t) => {
  const server = await TestServer.start(t);
  const api = new CheckedApiClient(server);
  await api.call('collections/add-collection', { collection_name });
  await api.addAll(collection_name, documents);
  // Afterwards the index comes from its snapshot, as after the next restart.
  await server.restart();
  const replies = await readReplies(api);
  t.ok(
    replies.every((reply) => reply.length > 100),
    'each query has results',
  );
  await server.stop();
  const count = await countFineTerms(server, 'delete');
  t.ok(count > 2 * documents.length, `${count} chunks have fine terms`);
  await server.restart();
  t.same(await readReplies(api), replies);
  t.same(await readReplies(api), replies, 'terms from the cache are the same');
  await server.stop();
  t.equal(await countFineTerms(server, 'count'), 0, 'queries write nothing');
});
