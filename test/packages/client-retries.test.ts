import {
  type CallOptions,
  type ClientOptions,
  QuarryApiError,
  QuarryClient,
  QuarryConnectionError,
  QuarryError,
  QuarryTimeoutError,
} from '../../packages/client/src/client.ts';
import t from '../support/tap.ts';

/** Retries, timeouts and errors of `packages/client`, against replies that a test chooses. */

type Reply = () => Response | Promise<Response>;

const status =
  (code: number, headers: Record<string, string> = {}, detail: unknown = `status ${code}`): Reply =>
  () =>
    Response.json({ detail }, { status: code, headers });
const success: Reply = () => Response.json({ results: [] });
const failed =
  (code: string): Reply =>
  () =>
    Promise.reject(new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) }));
const soon = { 'retry-after-ms': '1' };

/** A client whose requests get these replies in order, and the bodies that it sent. */
function clientWith(replies: readonly Reply[], options: Partial<ClientOptions> = {}) {
  const sent: unknown[] = [];
  const client = new QuarryClient({
    apiKey: 'key',
    baseUrl: 'http://quarry.test',
    fetch: async (_, init) => {
      const { body } = init ?? {};
      sent.push(body instanceof ReadableStream ? await new Response(body).text() : body);
      return replies[sent.length - 1]!();
    },
    ...options,
  });
  return { client, sent };
}

const search = (client: QuarryClient, options?: CallOptions) =>
  client.queries.topSnippets({ collection_name: 'a', query: 'b', k: 1 }, options);
const remove = (client: QuarryClient) => client.documents.deleteDocument({ collection_name: 'a', path: 'b' });

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => null,
    (error: unknown) => error,
  );
}

t.test('temporary statuses are retried after the time that the server names', async (t) => {
  for (const code of [408, 429, 502, 503]) {
    const { client, sent } = clientWith([status(code, soon), status(code, soon), success]);
    t.same(await search(client), { results: [] });
    t.equal(sent.length, 3, `${code}`);
    t.equal(sent[0], sent[2], 'the same request');
  }
});

t.test('the header x-should-retry decides; other statuses are not retried', async (t) => {
  for (const [reply, attempts] of [
    [status(503, { 'x-should-retry': 'false', ...soon }), 1],
    [status(409, { 'x-should-retry': 'true', ...soon }), 2],
    ...[400, 401, 404, 409, 413, 422, 500].map((code) => [status(code, soon), 1] as const),
  ] as const) {
    const { client, sent } = clientWith([reply, success]);
    const error = await errorOf(search(client));
    t.equal(sent.length, attempts);
    t.equal(error instanceof QuarryApiError, attempts === 1);
  }
});

t.test('retries end after retriesMax, and at a wait of more than a minute', async (t) => {
  const busy = clientWith(Array.from({ length: 9 }, () => status(429, soon)));
  t.match(await errorOf(search(busy.client)), { name: 'QuarryApiError', status: 429 });
  t.equal(busy.sent.length, 5);
  const once = clientWith([status(429, soon)], { retriesMax: 0 });
  t.match(await errorOf(search(once.client)), { status: 429, retryAfterMs: 1, mayRetry: true });
  const later = clientWith([status(429, { 'retry-after': '3600', 'x-quarry-limit': 'documents' })]);
  t.match(await errorOf(search(later.client)), { retryAfterMs: 3_600_000, limit: 'documents' });
  t.equal(later.sent.length, 1);
});

t.test('a lost connection is retried if the request cannot be executed twice', async (t) => {
  const lostRead = clientWith([failed('ECONNRESET'), success]);
  await search(lostRead.client);
  t.equal(lostRead.sent.length, 2, 'a read');
  const lostWrite = clientWith([failed('ECONNRESET'), success]);
  const error = await errorOf(remove(lostWrite.client));
  t.ok(error instanceof QuarryConnectionError && error instanceof QuarryError);
  t.match(error, { message: /^Cannot reach a Quarry server at http:\/\/quarry\.test \(ECONNRESET\)/ });
  t.equal(lostWrite.sent.length, 1, 'a write that the server may have received');
  const refused = clientWith([failed('ECONNREFUSED'), success]);
  await remove(refused.client);
  t.equal(refused.sent.length, 2, 'a write that the server has not received');
});

t.test('a stream is sent again only if a function can create it again', async (t) => {
  const parts = async function* () {
    yield 'one ';
    yield new TextEncoder().encode('two');
  };
  const place = { collection_name: 'a', path: 'b' };
  const stream = clientWith([status(503, soon), success]);
  t.match(await errorOf(stream.client.documents.putDocument({ ...place, content: parts() })), {
    status: 503,
  });
  t.same(stream.sent, ['one two']);
  const repeated = clientWith([status(503, soon), success]);
  await repeated.client.documents.putDocument({ ...place, content: parts });
  t.same(repeated.sent, ['one two', 'one two']);
  const bytes = clientWith([status(503, soon), success]);
  await bytes.client.documents.putDocument({ ...place, content: 'text' });
  t.same(bytes.sent, ['text', 'text']);
});

t.test('an error has the message, issues and ID of the reply', async (t) => {
  const issue = { loc: ['body', 'k'], msg: 'must be an integer', type: 'type' };
  const invalid = clientWith([status(422, { 'x-request-id': 'id' }, [issue])]);
  t.match(await errorOf(search(invalid.client)), {
    message: 'body.k: must be an integer',
    issues: [issue],
    requestId: 'id',
    limit: null,
  });
  const other = clientWith([() => new Response('<html>', { status: 404 })]);
  t.match(await errorOf(search(other.client)), { message: /status 404 .* Check the base URL/ });
  const page = clientWith([() => new Response('<html>')]);
  t.match(await errorOf(search(page.client)), { name: 'QuarryApiError', status: 200 });
  t.throws(() => new QuarryClient({ apiKey: 'key', baseUrl: 'quarry' }), /"quarry" is not a URL/);
});

/** A request that gets no reply until its signal is aborted. */
const silent: typeof fetch = (_, init) =>
  new Promise((_, reject) => {
    const { signal } = init as { signal: AbortSignal };
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason));
  });

t.test('a call ends after timeoutMs, or when the caller aborts it, also while it waits', async (t) => {
  const { client } = clientWith([], { fetch: silent });
  const late = await errorOf(search(client, { timeoutMs: 1 }));
  t.ok(late instanceof QuarryTimeoutError);
  t.match(late, { message: /within 1 ms/ });
  const reason = new Error('not needed');
  const caller = new AbortController();
  const aborted = errorOf(search(client, { signal: caller.signal }));
  caller.abort(reason);
  t.equal(await aborted, reason);
  t.equal(await errorOf(search(client, { signal: caller.signal })), reason);
  const waiting = new AbortController();
  const busy = clientWith([
    () => {
      setImmediate(() => waiting.abort(reason));
      return Response.json({}, { status: 503, headers: { 'retry-after': '59' } });
    },
  ]);
  t.equal(await errorOf(search(busy.client, { signal: waiting.signal })), reason);
  t.equal(busy.sent.length, 1);
});
