import { buildPdf } from '../parsing/pdf-fixtures.ts';
import { createTestRandom } from '../storage/test-random.ts';
import type { Test } from '../support/tap.ts';
import { CheckedApiClient, waitFor } from './checked-api-client.ts';
import type { ReplyOf } from './published-replies.ts';
import { TestServer } from './server.ts';

const callers = 12;
const collectionNames = ['first', 'second', 'third'];
const pdf = Buffer.from(buildPdf(['Granite on page one.', 'Marble on page two.'])).toString('base64');

/** Generates one random call. */
export function randomCall(
  randomBelow: (limit: number) => number,
): readonly [operation: string, body: object] {
  const collection_name = collectionNames[randomBelow(3)];
  const named = { collection_name, path: `path ${randomBelow(12)}` };
  const text = `word${randomBelow(50)} granite text. `.repeat(1 + randomBelow(200));
  const content = randomBelow(3) > 0 ? { type: 'text', text } : { type: 'auto', base64_data: pdf };
  const metadata = { a: String(randomBelow(3)) };
  const question = {
    collection_name,
    query: `granite word${randomBelow(50)}`,
    k: 20,
    explain: randomBelow(2) === 0,
  };
  const add = { ...named, content, metadata, overwrite: randomBelow(3) > 0, wait: randomBelow(5) === 0 };
  const calls: readonly (readonly [string, object])[] = [
    ['collections/add-collection', { collection_name, num_shards: [1, 8, 64][randomBelow(3)] }],
    ['documents/add-document', add],
    ['documents/add-document', add],
    ['documents/add-document', add],
    ['documents/update-document', { ...named, metadata: { ...metadata, b: 'x' } }],
    [
      'documents/delete-document',
      { collection_name, path: [named.path, `path ${randomBelow(12)}`, named.path] },
    ],
    ['documents/get-document-info', { ...named, include_content: true }],
    ['documents/get-page-info', { ...named, page_index: randomBelow(2), include_content: true }],
    ['documents/get-document-info-list', { collection_name }],
    ['queries/top-snippets', { ...question, precise_responses: randomBelow(2) === 0, filter: metadata }],
    ['queries/top-pages', { ...question, include_content: true, reranker: 'zerank-1-small' }],
    [
      'queries/top-documents',
      { ...question, query: randomBelow(2) === 0 ? null : 'granite', include_metadata: true },
    ],
    ['status/get-status', {}],
  ];
  if (randomBelow(300) === 0) return ['collections/delete-collection', { collection_name }];
  return calls[randomBelow(calls.length)]!;
}

/** Error in a single reply, or null. */
export function replyProblem(operation: string, status: number, body: unknown): string | null {
  if (status >= 500) return `answered ${status}`;
  if (status !== 200) return null;
  if (operation === 'queries/top-pages') {
    const { results } = body as ReplyOf<'queries/top-pages'>;
    return results.some(({ content }) => content === null) ? 'a page without the requested text' : null;
  }
  if (operation === 'documents/get-document-info') {
    const { document } = body as ReplyOf<'documents/get-document-info'>;
    return document.index_status === 'indexed' && document.content === null ? 'indexed without text' : null;
  }
  if (operation !== 'status/get-status') return null;
  const counts = body as ReplyOf<'status/get-status'>;
  const { num_parsing_documents, num_indexing_documents, num_indexed_documents, num_failed_documents } =
    counts;
  const sum = num_parsing_documents + num_indexing_documents + num_indexed_documents + num_failed_documents;
  const numbers = Object.values(counts).filter((count) => typeof count === 'number');
  const right = sum === counts.num_documents && numbers.every((count) => count >= 0);
  return right ? null : 'the counters do not add up';
}

/**
 * Twelve clients run random operations on the same few names concurrently for `ms` milliseconds. No reply may be a
 * server error or contain an impossible value; at the end, list, counters and search must agree.
 */
export async function runRandomLoad(t: Test, ms: number): Promise<void> {
  const { seed, below: randomBelow } = createTestRandom();
  t.comment(`QUARRY_TEST_SEED=${seed}`);
  const server = await TestServer.start(t, { SNAPSHOT_SECONDS: '5' });
  const api = new CheckedApiClient(server);
  const end = performance.now() + ms;
  let calls = 0;
  const caller = async () => {
    while (performance.now() < end) {
      const [operation, body] = randomCall(randomBelow);
      const reply = await api.request(operation, body);
      const wrong = replyProblem(operation, reply.status, reply.body);
      if (wrong !== null) t.fail(`${operation}: ${wrong}`, { body, reply: reply.body });
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  t.ok(calls > callers, `${calls} calls`);
  await waitFor('the end of all processing', async () => {
    const status = await api.call('status/get-status');
    return status.num_indexed_documents === status.num_documents ? true : null;
  });
  for (const collection_name of (await api.call('collections/get-collection-list')).collection_names) {
    const listed = await api.paths(collection_name);
    const status = await api.call('status/get-status', { collection_name });
    t.equal(status.num_documents, listed.length, `counters of ${collection_name}`);
    for (const query of [null, 'granite']) {
      const found = await api.find(collection_name, query, { k: 100 });
      t.same([...found].sort(), [...listed].sort(), `${query} in ${collection_name}`);
    }
  }
  t.notMatch(server.log, /"level":50/, 'no internal error occurred');
  t.equal(await server.stop(), 0);
}
