import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runQuarry } from '../cli/quarry.ts';
import { tokenVectorsGraph, writeModelFolder } from '../models/model-folder-fixtures.ts';
import t from '../support/tap.ts';
import { testEventMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import {
  documentsCount,
  querySnippets,
  startModelChange,
  statusOf,
  topicWords,
  waitForStatus,
} from './model-change-fixture.ts';
import { operatorKey, TestServer } from './server.ts';

/** A collection changes its embedding model while it serves queries. */

t.setTimeout(1_800_000);

t.test('a collection deleted during a model change leaves no data', async (t) => {
  const { service, server, api } = await startModelChange(t);
  service.setBehavior('slow');
  await api.call('collections/change-model', { collection_name: 'notes', embedding_model: 'letters' });
  await waitForStatus(
    'the first new vectors',
    api,
    ({ model_changes: [first] = [] }) => (first?.num_documents_done ?? 0) > 0,
  );
  await api.call('collections/delete-collection', { collection_name: 'notes' });
  await api.call('collections/add-collection', { collection_name: 'notes' });
  t.match(await statusOf(api), { embedding_model: 'letters', num_documents: 0, model_changes: undefined });
  await server.restart();
  const deadline = performance.now() + testEventMsMax;
  const folder = join(server.data, 'index');
  while (readdirSync(folder).length > 1 && performance.now() < deadline) await sleep(50);
  t.equal(readdirSync(folder).length, 1, 'one collection, one folder');
});

t.test('a change that is replaced by another ends with the last requested model', async (t) => {
  const { service, server, api } = await startModelChange(t);
  await server.stop();
  const folder = writeModelFolder(t, { 'model.onnx': tokenVectorsGraph() }, 'tokens');
  t.match(await runQuarry(['models', 'add', folder], { variables: { QUARRY_DATA: server.data } }), {
    code: 0,
  });
  await server.restart();
  service.setBehavior('slow');
  const change = (model: string) =>
    api.call('collections/change-model', { collection_name: 'notes', embedding_model: model });
  for (const model of ['letters', 'tokens']) await change(model);
  const variables = { QUARRY_URL: server.url, QUARRY_API_KEY: operatorKey };
  t.match((await runQuarry(['collections', 'list'], { variables })).out, /^notes\n/);
  const ended = await waitForStatus(
    'the end of the change',
    api,
    ({ model_changes: changes }) => changes === undefined,
  );
  t.equal(ended.embedding_model, 'tokens');
  const found = await querySnippets(api, 'the capstan');
  t.equal(found.results.length, documentsCount);
  t.equal(found.warnings, undefined);
  t.ok(found.results.every(({ explain }) => typeof explain?.vector.similarity === 'number'));
});

t.test('a document that the new model rejects blocks the change, is named, and can be deleted', async (t) => {
  const { service, server, api } = await startModelChange(t);
  await api.add('notes', 'long.txt', `${'A long note on the halyard. '.repeat(20)}`);
  service.setBehavior('refuse-long');
  await api.call('collections/change-model', { collection_name: 'notes', embedding_model: 'letters' });
  await waitForStatus('the status names the document', api, ({ model_changes: [first] = [] }) =>
    /"long\.txt" blocks the model change: .*rejected the text/.test(first?.waiting_for ?? ''),
  );
  const variables = { QUARRY_URL: server.url, QUARRY_API_KEY: operatorKey };
  t.match(await runQuarry(['collections', 'list'], { variables }), {
    err: /notes: changing the model to letters.*long\.txt/,
  });
  await api.call('documents/delete-document', { collection_name: 'notes', path: 'long.txt' });
  const ended = await waitForStatus(
    'the end of the change',
    api,
    ({ model_changes: changes }) => changes === undefined,
  );
  t.equal(ended.embedding_model, 'letters');
  t.equal((await querySnippets(api, 'the capstan')).results.length, documentsCount);
});

t.test('a model can be changed while documents that wait for it fill the queue', async (t) => {
  const { service, server, api } = await startModelChange(t);
  await api.call('collections/change-model', { collection_name: 'notes', embedding_model: 'letters' });
  await waitForStatus('the end of the change', api, ({ model_changes: changes }) => changes === undefined);
  await server.restart({ QUEUE_DOCUMENTS_MAX: '3' });
  service.setBehavior('error');
  const add = (i: number) =>
    api.request('documents/add-document', {
      collection_name: 'notes',
      path: `new ${i}.txt`,
      content: { type: 'text', text: `A new note on the ${topicWords[i]}.` },
    });
  for (let i = 0; i < 3; i += 1) t.equal((await add(i)).status, 201);
  t.match(await add(3), { status: 429, body: { detail: /queue is full/ } });
  await api.call('collections/change-model', { collection_name: 'notes', embedding_model: 'zembed-1' });
  const ended = await waitForStatus(
    'the end of the change',
    api,
    ({ model_changes: changes }) => changes === undefined,
  );
  t.equal(ended.embedding_model, 'zembed-1');
  for (;;) {
    const { num_indexed_documents: indexed } = await api.call('status/get-status', {
      collection_name: 'notes',
    });
    if (indexed === documentsCount + 3) break;
    await sleep(50);
  }
  const found = await querySnippets(api, 'a new note');
  t.equal(found.results.length, documentsCount + 3);
  t.equal(found.warnings, undefined);
});

t.test('a new version of a model recomputes the vectors automatically', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-renewed-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const data = join(folder, 'data');
  const letters = writeModelFolder(t, { 'model.onnx': tokenVectorsGraph() }, 'letters');
  const models = (...commandLineArguments: string[]) =>
    runQuarry(['models', ...commandLineArguments], { variables: { QUARRY_DATA: data } });
  t.match(await models('add', letters), { code: 0 });
  const server = await TestServer.start(t, { DATA: data, EMBEDDING_MODEL: 'letters' });
  const api = new CheckedApiClient(server);
  await api.call('collections/add-collection', { collection_name: 'notes' });
  for (const word of ['salt', 'herring', 'gull', 'tide']) await api.add('notes', `${word}.txt`, word);
  await server.stop();
  await models('remove', 'letters', '--yes', '--force');
  t.match(await models('add', letters, '--dimensions', '4'), { code: 0 });
  await server.restart();
  const ended = await waitForStatus(
    'the end of the change',
    api,
    ({ model_changes: changes }) => changes === undefined,
  );
  t.equal(ended.embedding_model, 'letters');
  const { results, warnings } = await querySnippets(api, 'gull');
  t.equal(warnings, undefined);
  t.equal(results[0]?.path, 'gull.txt');
  t.ok(results.every(({ explain }) => typeof explain?.vector.similarity === 'number'));
});
