import { FakeModelService } from '../models/fake-model-service.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { TestServer } from './server.ts';

/** Models behind the names of the hosted service, and the headers of queries. */

t.setTimeout(testFileMsMax);

const warning = (name: string) =>
  `${name} is a built-in model of Quarry, not the model of the hosted service with this name`;

const service = await FakeModelService.start(t);
const server = await TestServer.start(t);
const api = new CheckedApiClient(server);
await api.call('collections/add-collection', { collection_name: 'notes' });
await api.add('notes', 'a.txt', 'Salted herring keeps well in a cool cellar.');
const headersOf = async (path: string, body: object) => {
  const { status, headers } = await api.request(path, body);
  return [status, headers.get('x-quarry-model'), headers.get('x-quarry-warnings')];
};
const ask = (body: object, kind = 'top-snippets') =>
  headersOf(`queries/${kind}`, { collection_name: 'notes', query: 'herring', k: 3, ...body });
const rerank = { model: 'zerank-2', query: 'herring', documents: ['a herring'] };
const embed = (model: string) => ({ model, input_type: 'query', input: 'herring' });

await t.test('by default the built-in models serve them, with a warning', async (t) => {
  const embedded = [200, 'zembed-1@built-in-1', null];
  for (const kind of ['top-snippets', 'top-pages', 'top-documents']) {
    t.same(await ask({}, kind), embedded, kind);
    t.same(await ask({}, kind), embedded, `${kind}, written by the engine`);
  }
  t.same(await ask({ weights: { lexical: 1, vector: 0 } }), [200, 'none', null]);
  t.same(await ask({ query: null }, 'top-documents'), [200, 'none', null], 'a listing');
  t.same(await ask({ reranker: 'zerank-1' }), [
    200,
    'zembed-1@built-in-1, zerank-1@built-in-1',
    warning('zerank-1'),
  ]);
  const { headers } = await api.send('vector_stores/notes/search', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'herring' }),
  });
  t.equal(headers.get('x-quarry-model'), embedded[1], 'in the format of OpenAI');
});

await t.test('with `refuse`, the names have no model, and other names are free to use', async (t) => {
  await server.restart({
    CONTRACT_MODELS: 'refuse',
    MODEL_ALIASES: 'plain=zembed-1,plain-rerank=zerank-2',
  });
  const refused = [404, null, null];
  t.same(await headersOf('models/embed', embed('zembed-1')), refused);
  t.same(await headersOf('models/rerank', rerank), refused);
  t.same(await ask({ reranker: 'zerank-2-small' }), refused);
  const reply = await api.request('embeddings', { model: 'zembed-1', input: 'x' });
  t.match(reply, { status: 404, body: { detail: /zembed-1.*QUARRY_CONTRACT_MODELS is "refuse"/ } });
  t.same(await headersOf('models/embed', embed('plain')), [200, 'zembed-1@built-in-1', null]);
  t.same(await ask({ reranker: 'plain-rerank' }), [200, 'zembed-1@built-in-1, zerank-2@built-in-1', null]);
  t.same(await ask({}), [200, 'zembed-1@built-in-1', null], 'collections keep their model');
  t.match(await api.call('models/get-model-list'), { rerankers: ['plain-rerank'] });
  const model = { collection_name: 'notes', embedding_model: 'zembed-1' };
  t.equal(await api.status('collections/change-model', model), 409, 'the id of the model remains known');
});

await t.test('with `real`, aliases map them to models of the operator', async (t) => {
  await server.restart({
    CONTRACT_MODELS: 'real',
    EMBEDDING_URL: service.url,
    EMBEDDING_MODEL: 'letters',
    RERANK_URL: service.url,
    RERANK_MODEL: 'org/words',
    MODEL_ALIASES: 'zembed-1=letters,zerank-2=org/words',
  });
  const [status, label, noWarning] = await headersOf('models/embed', embed('zembed-1'));
  t.same([status, noWarning], [200, null]);
  t.match(label, /^letters@[0-9a-f]{16}$/);
  const reranked = await headersOf('models/rerank', rerank);
  t.match(reranked[1], /^org\/words@[0-9a-f]{16}$/);
  t.same(
    await headersOf('models/rerank', { ...rerank, model: 'zerank-2-nano' }),
    reranked,
    'an unlisted name follows the alias of the listed one',
  );
  t.same(await headersOf('models/rerank', { ...rerank, model: 'zerank-1' }), [404, null, null]);
  const words = 'herring '.repeat(40);
  for (const wide of [{ query: words }, { query: 'herring', latency_mode: 'high' }])
    t.same(
      await ask(wide),
      [200, 'zembed-1@built-in-1', null],
      'an alias does not replace the model of a collection',
    );
  service.setBehavior('closed');
  t.same(await ask({ reranker: 'org/words' }), [200, 'zembed-1@built-in-1', null], 'without the reranker');
});

await t.test('with `real` and without these aliases, the server does not start', async (t) => {
  const message =
    /QUARRY_CONTRACT_MODELS is "real", but zembed-1 and zerank-2 would be served by a built-in model/;
  await t.rejects(TestServer.start(t, { CONTRACT_MODELS: 'real' }), { message });
});
