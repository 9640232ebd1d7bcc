import { QuarryClient } from '../../packages/client/src/client.ts';
import t from '../support/tap.ts';
import { clientMethods } from './client-source.ts';

/** Fields of a request that are in the path or the body of uploads. */
const request = {
  collection_name: 'a/b',
  path: 'c d/ü',
  content: 'text',
  file: new Blob(['text']),
  model: 'm/1',
  vector_store_id: 'a/b',
  token: 'secret',
};
const encoded: Readonly<Record<string, string>> = {
  collection: 'a%2Fb',
  path: 'c%20d%2F%C3%BC',
  model: 'm%2F1',
  vector_store_id: 'a%2Fb',
};

t.test('each method sends the request of its operation', async (t) => {
  const sent: { method: string; url: URL; body: unknown }[] = [];
  const client = new QuarryClient({
    apiKey: 'key',
    baseUrl: 'http://quarry.test:8720/v1/',
    fetch: async (url, init) => {
      sent.push({ method: init?.method ?? '', url: new URL(String(url)), body: init?.body });
      return Response.json({});
    },
  });
  const groups = client as unknown as Record<string, Record<string, (input: object) => Promise<unknown>>>;
  for (const { group, name, httpMethod, path, operation } of clientMethods) {
    await groups[group]![name]!(request);
    const { method, url, body } = sent.pop()!;
    const expected = path.replace(/\{(\w+)\}/g, (_, parameter: string) => encoded[parameter]!);
    t.equal(`${method} ${url.origin}${url.pathname}`, `${httpMethod} http://quarry.test:8720${expected}`);
    const json = operation.requestBody?.content['application/json'];
    t.equal(typeof body === 'string' && body.startsWith('{'), json !== undefined, `${name}: body`);
    if (path.includes('{vector_store_id}')) t.notMatch(body, /vector_store_id/, 'not in the body, too');
  }
  t.equal(sent.length, 0);
});
