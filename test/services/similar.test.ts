import type { KeyRestriction } from '../../src/schemas/principal.ts';
import t from '../support/tap.ts';
import { addTextDocument, createServices, serviceCallFor } from './service-fixture.ts';

const pages = (...texts: string[]) => ({ content: { type: 'text-pages', pages: texts } });
const long = (letters: string) => `${letters} `.repeat(500);

t.test('similar documents, pages and snippets exclude their source', async (t) => {
  const parts = await createServices(t);
  const { queries } = parts;
  await addTextDocument(parts, 'a.txt', 'aaaa bbbb');
  await addTextDocument(parts, 'near.txt', 'aaab bbba');
  await addTextDocument(parts, 'far.txt', 'dddd eeee');
  await addTextDocument(parts, 'long.txt', '', pages(long('aaaa bbbb'), long('dddd eeee')));
  const ask = { collection_name: 'papers', query: '', k: 10 };
  const documents = async (similar_to: { path: string; start_index?: number }, fields = {}) =>
    (await queries.topDocuments(serviceCallFor(), { ...ask, ...fields, similar_to })).parse().results;
  const paths = (results: readonly { readonly path: string }[]) => results.map(({ path }) => path);

  const similar = await documents({ path: 'a.txt' });
  t.notOk(paths(similar).includes('a.txt'), 'the source is not a result');
  t.equal(paths(similar).at(-1), 'far.txt');
  t.equal(similar[0]!.score, 1, 'the best result has the maximum score');
  t.same(paths(await documents({ path: 'a.txt' }, { query: null })), paths(similar));
  t.same(paths(await documents({ path: 'a.txt' }, { k: 1 })), paths(similar).slice(0, 1));
  const half = long('aaaa bbbb').length + 10;
  t.equal(paths(await documents({ path: 'long.txt', start_index: half }))[0], 'far.txt');
  t.not(paths(await documents({ path: 'long.txt', start_index: 0 }))[0], 'far.txt');
  t.notOk(paths(await documents({ path: 'long.txt', start_index: 0 })).includes('long.txt'));

  for (const precise_responses of [false, true]) {
    const snippets = async (similar_to: { path: string; start_index?: number }) =>
      (await queries.topSnippets(serviceCallFor(), { ...ask, k: 128, precise_responses, similar_to })).parse()
        .results;
    t.notOk(paths(await snippets({ path: 'long.txt' })).includes('long.txt'), 'no snippet of the document');
    const others = (await snippets({ path: 'long.txt', start_index: half })).filter(
      ({ path }) => path === 'long.txt',
    );
    t.ok(others.length > 0, 'other snippets of the document');
    t.notOk(
      others.some(({ start_index, end_index }) => start_index <= half && half < end_index),
      'not the snippet itself',
    );
  }
  const found = (
    await queries.topPages(serviceCallFor(), { ...ask, similar_to: { path: 'long.txt' } })
  ).parse();
  t.notOk(paths(found.results).includes('long.txt'));
  t.same(parts.recordedModelUsage, [], 'no model was called');
  t.match(parts.recordedUsage[0], { type: 'documents', queryBytes: 0 });
});

t.test('the words of a query count besides the vector of the source', async (t) => {
  const parts = await createServices(t);
  await addTextDocument(parts, 'a.txt', 'aaaa bbbb');
  await addTextDocument(parts, 'near.txt', 'aaab bbba');
  await addTextDocument(parts, 'far.txt', 'dddd herring');
  const reply = await parts.queries.topDocuments(serviceCallFor(), {
    collection_name: 'papers',
    query: 'herring',
    k: 1,
    similar_to: { path: 'a.txt' },
  });
  t.match(reply.parse().results, [{ path: 'far.txt' }]);
  t.same(parts.recordedModelUsage, []);
});

t.test('a source that does not exist, is hidden, or has no text is rejected', async (t) => {
  const parts = await createServices(t);
  await addTextDocument(parts, 'a.txt', 'aaaa bbbb', { metadata: { tenant: 'a' } });
  await addTextDocument(parts, 'b.txt', 'aaab bbba', { metadata: { tenant: 'b' } });
  await addTextDocument(parts, 'blank.txt', '   ', { metadata: { tenant: 'a' } });
  const restriction: KeyRestriction = { collections: null, filter: { tenant: 'a' } };
  const ask = { collection_name: 'papers', query: '', k: 5 };
  const find = (similar_to: { path: string; start_index?: number }, fields = {}) =>
    parts.queries.topDocuments({ ...serviceCallFor(), ...fields }, { ...ask, similar_to });
  await t.rejects(find({ path: 'none.txt' }), { code: 'not_found', message: /none\.txt/ });
  await t.rejects(find({ path: 'blank.txt' }), { code: 'bad_request', message: /no text/ });
  await t.rejects(find({ path: 'a.txt', start_index: 9 }), { code: 'bad_request', message: /9 characters/ });
  const principal = { ...serviceCallFor().principal, restriction };
  await t.rejects(find({ path: 'b.txt' }, { principal }), { code: 'not_found', message: /b\.txt/ });
  t.same((await find({ path: 'a.txt' }, { principal })).parse().results, [], 'the filter of the key holds');
});
