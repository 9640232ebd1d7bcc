import { setTimeout as sleep } from 'node:timers/promises';
import { runQuarry } from '../cli/quarry.ts';
import { FakeModelService } from '../models/fake-model-service.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import type { CheckedApiClient } from './checked-api-client.ts';
import {
  addNotes,
  checkServiceVectors,
  documentsCount,
  pathOf,
  querySnippets,
  type SnippetsReply,
  serverSettingsFor,
  statusOf,
  textOf,
  waitForStatus,
} from './model-change-fixture.ts';
import { TestServer } from './server.ts';
import { createTenant } from './tenant.ts';

/**
 * A collection changes its embedding model while it serves queries. The tests share a server and a service; each has
 * its own organization.
 */

t.setTimeout(testFileMsMax);
const service = await FakeModelService.start(t);
const server = await TestServer.start(t, serverSettingsFor(service));

/** Organization of a test; the service has no faults and no requests yet. */
async function createOrganization() {
  service.setBehavior('well');
  service.requests.length = 0;
  return createTenant(server);
}

/** Organization with notes that the built-in model embeds. */
async function createNotes() {
  const tenant = await createOrganization();
  await addNotes(tenant.api);
  return tenant;
}

/** Starts to change `notes` to the model `letters` while its service fails. */
async function startPausedModelChange(t: Test) {
  const { api } = await createNotes();
  service.setBehavior('error');
  await api.call('collections/change-model', { collection_name: 'notes', embedding_model: 'letters' });
  const texts = new Map(Array.from({ length: documentsCount }, (_, i) => [pathOf(i), textOf(i)]));
  const put = async (path: string, text: string) => {
    t.match(await api.add('notes', path, text, { overwrite: true }), { index_status: 'indexed' });
    texts.set(path, text);
  };
  const remove = async (path: string) => {
    await api.call('documents/delete-document', { collection_name: 'notes', path });
    texts.delete(path);
  };
  const kill = async () => {
    await server.stop('SIGKILL');
    await server.restart();
  };
  return { api, texts, put, remove, kill };
}

/** Changes the model of a collection without documents, and adds one; in another organization. */
async function changeEmptyCollection() {
  const { api } = await createTenant(server);
  await api.call('collections/add-collection', { collection_name: 'notes' });
  await api.call('collections/change-model', { collection_name: 'notes', embedding_model: 'zembed-1' });
  const ended = await waitForStatus(
    'the end of the change',
    api,
    ({ model_changes: changes }) => changes === undefined,
  );
  await api.add('notes', 'a.txt', 'The capstan.');
  return { api, ended };
}

t.test('a model change is rejected with the reason, or its status shows why it waits', async (t) => {
  const { api, key } = await createNotes();
  const change = (model: string) =>
    api.request('collections/change-model', { collection_name: 'notes', embedding_model: model });
  t.match(await change('nothing'), { status: 404, body: { detail: /letters, zembed-1/ } });
  t.match(await change('zembed-1'), { status: 409, body: { detail: /already uses the model "zembed-1"/ } });
  const unknown = { collection_name: 'nowhere', embedding_model: 'letters' };
  t.equal(await api.status('collections/change-model', unknown), 404);
  service.setBehavior('error');
  t.equal((await change('letters')).status, 200);
  t.match(await change('letters'), { status: 409, body: { detail: /already being changed to "letters"/ } });
  await waitForStatus('the status names the error of the service', api, ({ model_changes: [first] = [] }) =>
    /letters.*HTTP status 500/.test(first?.waiting_for ?? ''),
  );
  const variables = { QUARRY_URL: server.url, QUARRY_API_KEY: key };
  const shown = await runQuarry(['status'], { variables });
  t.match(shown.out, /notes: changing the model to letters, 0 of 60 documents done\. Paused\. .*letters/);
  // The change would continue during the next tests.
  await api.call('collections/delete-collection', { collection_name: 'notes' });
});

t.test('the previous model serves during a change, and a kill loses no document', async (t) => {
  const { api, texts, put, remove, kill } = await startPausedModelChange(t);
  await put('late.txt', 'A late note tells of the bollard.');
  await put(pathOf(3), 'Now it tells of the windlass.');
  await remove(pathOf(5));
  const before = await querySnippets(api, 'the windlass');
  t.match(before, { results: [{ path: pathOf(3) }] });
  t.equal(before.warnings, undefined);
  t.ok(before.results.every(({ explain }) => typeof explain?.vector.similarity === 'number'));
  t.notOk(
    service.requests.some(({ texts: embeddedTexts }) => embeddedTexts.includes('the windlass')),
    'the previous model embeds queries',
  );

  service.setBehavior('slow');
  await waitForStatus(
    'some documents have new vectors',
    api,
    ({ model_changes: [first] = [] }) => (first?.num_documents_done ?? 0) > 0,
  );
  service.setBehavior('error');
  await put('later.txt', 'A later note tells of the fender.');
  await kill();
  t.match(await statusOf(api), {
    embedding_model: 'zembed-1',
    model_changes: [{ embedding_model: 'letters' }],
  });
  await put('latest.txt', 'The latest note tells of the hatch.');
  await remove(pathOf(6));
  service.setBehavior('well');
  const ended = await waitForStatus(
    'the end of the change',
    api,
    ({ model_changes: changes }) => changes === undefined,
  );
  t.equal(ended.embedding_model, 'letters');
  await checkServiceVectors(t, api, texts, service);
  await put(pathOf(7), 'And this one of the jib.');
  const emptyCollection = await changeEmptyCollection();
  await kill();
  await checkServiceVectors(t, api, texts, service);
  t.ok(
    service.requests.some(({ texts: embeddedTexts }) => embeddedTexts.includes('what does the capstan do')),
  );
  await t.test('an empty collection changes its model at once', async (t) => {
    t.equal(emptyCollection.ended.embedding_model, 'zembed-1');
    const { results, warnings } = await querySnippets(emptyCollection.api, 'capstan');
    t.match(results, [{ path: 'a.txt', explain: { vector: { similarity: Number } } }]);
    t.equal(warnings, undefined);
  });
});

/** Cancels a change of a collection, and repeats it to its end. */
async function cancelAndChange(t: Test): Promise<CheckedApiClient> {
  const { api } = await createNotes();
  service.setBehavior('error');
  const change = (model: string) =>
    api.call('collections/change-model', { collection_name: 'notes', embedding_model: model });
  await change('letters');
  await change('zembed-1');
  t.match(await statusOf(api), { embedding_model: 'zembed-1', model_changes: undefined });
  t.equal((await querySnippets(api, 'the capstan')).warnings, undefined);
  service.setBehavior('well');
  await change('letters');
  await waitForStatus('the end of the change', api, ({ model_changes: changes }) => changes === undefined);
  t.equal((await statusOf(api)).embedding_model, 'letters');
  return api;
}

t.test('a change to another model and back results in the same vectors', async (t) => {
  const canceled = await cancelAndChange(t);
  const { api, key } = await createNotes();
  t.match(await api.add('notes', pathOf(3), 'Now it tells of the windlass.', { overwrite: true }), {
    index_status: 'indexed',
  });
  const before = await querySnippets(api, 'the windlass');
  await api.call('collections/change-model', { collection_name: 'notes', embedding_model: 'letters' });
  await waitForStatus('the end of the change', api, ({ model_changes: changes }) => changes === undefined);
  await server.restart();
  await t.test('a change is canceled by requesting the current model of the collection', async (t) => {
    t.equal((await querySnippets(canceled, 'the capstan')).results.length, documentsCount);
  });
  const variables = { QUARRY_URL: server.url, QUARRY_API_KEY: key };
  const back = await runQuarry(['collections', 'change-model', 'notes', 'zembed-1'], { variables });
  t.match(back, { code: 0, err: /notes now uses the model zembed-1\./ });
  const after = await querySnippets(api, 'the windlass');
  t.same(
    after.results.map(({ path }) => path).sort(),
    Array.from({ length: documentsCount }, (_, i) => pathOf(i)).sort(),
  );
  t.match(after, { results: [{ path: pathOf(3) }] });
  t.equal(after.warnings, undefined);
  const similarityOf = ({ results }: SnippetsReply) =>
    results.find(({ path }) => path === pathOf(3))?.explain?.vector.similarity;
  t.equal(similarityOf(after), similarityOf(before), 'the same model computes the same vectors');
});

t.test('documents added throughout a model change are indexed after it', async (t) => {
  const { api } = await createNotes();
  const texts = new Map(Array.from({ length: documentsCount }, (_, i) => [pathOf(i), textOf(i)]));
  await api.call('collections/change-model', { collection_name: 'notes', embedding_model: 'letters' });
  const failures: unknown[] = [];
  let isOver = false;
  const newDocuments = (async () => {
    for (let i = 0; !isOver; i += 1) {
      const path = `coming ${i % 40}.txt`;
      const text = `Number ${i} tells of the halyard.`;
      const added = await api.add('notes', path, text, { overwrite: true });
      if (added.index_status !== 'indexed') failures.push(added);
      texts.set(path, text);
      const { results, warnings } = await querySnippets(api, `halyard ${i}`, { k: 3 });
      if (warnings !== undefined || results.some(({ explain }) => explain?.vector.similarity == null))
        failures.push({ warnings, results });
    }
  })();
  await waitForStatus('the end of the change', api, ({ model_changes: changes }) => changes === undefined);
  await sleep(300);
  isOver = true;
  await newDocuments;
  t.same(failures, [], 'nothing failed, and every query used vectors');
  await checkServiceVectors(t, api, texts, service);
});
