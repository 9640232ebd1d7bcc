import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { quarry } from '../cli/quarry.ts';
import { folderOf, tokenVectors } from '../models/hugging-face-folder.ts';
import { ModelService, vectorOf } from '../models/model-service.ts';
import { Api } from './api.ts';
import { operatorKey, TestServer } from './server.ts';

/** A collection gets the vectors of another model while it serves. */

t.setTimeout(180_000);

const words = ['anchor', 'ballast', 'capstan', 'davit', 'ensign', 'fathom', 'gunwale', 'hawser'];
const pathOf = (i: number) => `${i}.txt`;
const textOf = (i: number) => `Note ${i} tells of the ${words[i % words.length]} and of nothing else.`;
const documentsCount = 60;

interface Status {
  readonly embedding_model?: string;
  readonly model_changes?: readonly {
    readonly embedding_model: string;
    readonly num_documents: number;
    readonly num_documents_done: number;
    readonly waiting_for?: string;
  }[];
}

interface Found {
  readonly results: {
    readonly path: string;
    readonly content: string;
    readonly explain?: { readonly vector: { readonly similarity: number | null } };
  }[];
  readonly warnings?: string[];
}

function statusOf(api: Api): Promise<Status> {
  return api.call('status/get-status', { collection_name: 'notes' }) as Promise<Status>;
}

async function eventually(what: string, api: Api, holds: (status: Status) => boolean): Promise<Status> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const status = await statusOf(api);
    if (holds(status)) return status;
    if (performance.now() > deadline) throw new Error(`${what}: still ${JSON.stringify(status)}`);
    await sleep(50);
  }
}

async function ask(api: Api, query: string, body: object = {}): Promise<Found> {
  const request = { collection_name: 'notes', query, k: 100, explain: true, ...body };
  return (await api.call('queries/top-snippets', request)) as unknown as Found;
}

function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = one.reduce((sum, value, i) => sum + value * other[i]!, 0);
  return dot / (Math.hypot(...one) * Math.hypot(...other));
}

function settingsFor(service: ModelService) {
  return {
    ...{ EMBEDDING_URL: service.url, EMBEDDING_MODEL: 'letters' },
    ...{ PROVIDER_SECONDS_MAX: '5', PROVIDER_QUERY_MS_MAX: '2000' },
  };
}

/** A server with notes whose vectors the built-in model made, and a service beside it. */
async function start(t: Test) {
  const service = await ModelService.start(t);
  const server = await TestServer.start(t);
  const api = new Api(server);
  await api.call('collections/add-collection', { collection_name: 'notes', num_shards: 8 });
  const documents = Array.from({ length: documentsCount }, (_, i) => ({
    path: pathOf(i),
    content: { type: 'text' as const, text: textOf(i) },
  }));
  await api.addAll('notes', documents);
  await server.restart(settingsFor(service));
  return { service, server, api };
}

/** Every note is found once, with exactly the similarity that the service's vectors give it. */
async function checkLetters(t: Test, api: Api, texts: ReadonlyMap<string, string>, service: ModelService) {
  const query = 'what does the capstan do';
  for (const precise of [false, true]) {
    const { results, warnings } = await ask(api, query, { precise_responses: precise });
    t.equal(warnings, undefined);
    t.same(results.map(({ path }) => path).sort(), [...texts.keys()].sort(), 'each note once');
    const embedded = service.asked.flatMap((asked) => asked.texts);
    for (const { path, content, explain } of results) {
      t.equal(content, texts.get(path));
      // A passage is embedded below its title, a precise one alone.
      const isWhole = (text: string) => (precise ? text === content : text.endsWith(`\n\n${content}`));
      const input = embedded.find(isWhole) ?? content;
      const expected = cosine(vectorOf(query), vectorOf(input));
      const similarity = explain?.vector.similarity ?? -1;
      if (Math.abs(similarity - expected) > 0.02)
        t.equal(similarity, expected, `${path}, precise ${precise}`);
    }
  }
}

t.test('while vectors of another model are made the old ones serve, and a kill loses nothing', async (t) => {
  const { service, server, api } = await start(t);
  const change = (model: string) =>
    api.ask('collections/change-model', { collection_name: 'notes', embedding_model: model });
  t.match(await change('nothing'), { status: 404, body: { detail: /letters, zembed-1/ } });
  t.match(await change('zembed-1'), { status: 409, body: { detail: /those of "zembed-1" already/ } });
  const unknown = { collection_name: 'nowhere', embedding_model: 'letters' };
  t.equal(await api.status('collections/change-model', unknown), 404);
  service.behave('error');
  t.equal((await change('letters')).status, 200);
  t.match(await change('letters'), { status: 409, body: { detail: /being changed to "letters" already/ } });
  await eventually('it says what it waits for', api, ({ model_changes: [first] = [] }) =>
    /letters.*answered 500/.test(first?.waiting_for ?? ''),
  );
  const shown = await quarry(['status'], {
    variables: { QUARRY_URL: server.url, QUARRY_API_KEY: operatorKey },
  });
  t.match(shown.out, /notes gets the vectors of letters: 0 of 60 documents done\. It waits\. .*letters/);

  const texts = new Map(Array.from({ length: documentsCount }, (_, i) => [pathOf(i), textOf(i)]));
  const put = async (path: string, text: string) => {
    t.match(await api.add('notes', path, text, { overwrite: true }), { index_status: 'indexed' });
    texts.set(path, text);
  };
  await put('late.txt', 'A late note tells of the bollard.');
  await put(pathOf(3), 'Now it tells of the windlass.');
  await api.call('documents/delete-document', { collection_name: 'notes', path: pathOf(5) });
  texts.delete(pathOf(5));
  const before = await ask(api, 'the windlass');
  t.match(before, { results: [{ path: pathOf(3) }] });
  t.equal(before.warnings, undefined);
  t.ok(before.results.every(({ explain }) => typeof explain?.vector.similarity === 'number'));
  t.notOk(
    service.asked.some(({ texts: asked }) => asked.includes('the windlass')),
    'the old model serves',
  );

  service.behave('slow');
  await eventually(
    'some are made',
    api,
    ({ model_changes: [first] = [] }) => (first?.num_documents_done ?? 0) > 0,
  );
  service.behave('error');
  await put('later.txt', 'A later note tells of the fender.');
  await server.stop('SIGKILL');
  await server.restart();
  t.match(await statusOf(api), {
    embedding_model: 'zembed-1',
    model_changes: [{ embedding_model: 'letters' }],
  });
  await put('latest.txt', 'The latest note tells of the hatch.');
  await api.call('documents/delete-document', { collection_name: 'notes', path: pathOf(6) });
  texts.delete(pathOf(6));
  service.behave('well');
  const ended = await eventually('it ends', api, ({ model_changes: changes }) => changes === undefined);
  t.equal(ended.embedding_model, 'letters');
  await checkLetters(t, api, texts, service);
  await put(pathOf(7), 'And this one of the jib.');
  await server.stop('SIGKILL');
  await server.restart();
  await checkLetters(t, api, texts, service);
  t.ok(service.asked.some(({ texts: asked }) => asked.includes('what does the capstan do')));

  const variables = { QUARRY_URL: server.url, QUARRY_API_KEY: operatorKey };
  const back = await quarry(['collections', 'change-model', 'notes', 'zembed-1'], { variables });
  t.match(back, { code: 0, err: /The vectors of notes are those of zembed-1\./ });
  const after = await ask(api, 'the windlass');
  t.same(after.results.map(({ path }) => path).sort(), [...texts.keys()].sort());
  t.match(after, { results: [{ path: pathOf(3) }] });
  t.equal(after.warnings, undefined);
  const similarityOf = ({ results }: Found) =>
    results.find(({ path }) => path === pathOf(3))?.explain?.vector.similarity;
  t.equal(similarityOf(after), similarityOf(before), 'the same model makes the same vectors');
});

t.test('documents that come all the time are all there after the switch', async (t) => {
  const { service, api } = await start(t);
  const texts = new Map(Array.from({ length: documentsCount }, (_, i) => [pathOf(i), textOf(i)]));
  await api.call('collections/change-model', { collection_name: 'notes', embedding_model: 'letters' });
  const failures: unknown[] = [];
  let isOver = false;
  const coming = (async () => {
    for (let i = 0; !isOver; i += 1) {
      const path = `coming ${i % 40}.txt`;
      const text = `Number ${i} tells of the halyard.`;
      const added = await api.add('notes', path, text, { overwrite: true });
      if (added.index_status !== 'indexed') failures.push(added);
      texts.set(path, text);
      const { results, warnings } = await ask(api, `halyard ${i}`, { k: 3 });
      if (warnings !== undefined || results.some(({ explain }) => explain?.vector.similarity == null))
        failures.push({ warnings, results });
    }
  })();
  await eventually('it ends', api, ({ model_changes: changes }) => changes === undefined);
  await sleep(300);
  isOver = true;
  await coming;
  t.same(failures, [], 'nothing failed and no query did without vectors');
  await checkLetters(t, api, texts, service);
});

t.test('a change is cancelled by naming the model of the collection again', async (t) => {
  const { service, server, api } = await start(t);
  service.behave('error');
  const change = (model: string) =>
    api.call('collections/change-model', { collection_name: 'notes', embedding_model: model });
  await change('letters');
  await change('zembed-1');
  t.match(await statusOf(api), { embedding_model: 'zembed-1', model_changes: undefined });
  t.equal((await ask(api, 'the capstan')).warnings, undefined);
  service.behave('well');
  await change('letters');
  await eventually('it ends', api, ({ model_changes: changes }) => changes === undefined);
  t.equal((await statusOf(api)).embedding_model, 'letters');
  await server.restart();
  t.equal((await ask(api, 'the capstan')).results.length, documentsCount);
});

t.test('a collection that is deleted meanwhile leaves nothing behind', async (t) => {
  const { service, server, api } = await start(t);
  service.behave('slow');
  await api.call('collections/change-model', { collection_name: 'notes', embedding_model: 'letters' });
  await eventually(
    'some are made',
    api,
    ({ model_changes: [first] = [] }) => (first?.num_documents_done ?? 0) > 0,
  );
  await api.call('collections/delete-collection', { collection_name: 'notes' });
  await api.call('collections/add-collection', { collection_name: 'notes' });
  t.match(await statusOf(api), { embedding_model: 'letters', num_documents: 0, model_changes: undefined });
  await server.restart();
  const deadline = performance.now() + 20_000;
  const folder = join(server.data, 'index');
  while (readdirSync(folder).length > 1 && performance.now() < deadline) await sleep(50);
  t.equal(readdirSync(folder).length, 1, 'one collection, one folder');
});

t.test('an empty collection changes its model at once', async (t) => {
  const service = await ModelService.start(t);
  const server = await TestServer.start(t, settingsFor(service));
  const api = new Api(server);
  await api.call('collections/add-collection', { collection_name: 'notes' });
  await api.call('collections/change-model', { collection_name: 'notes', embedding_model: 'zembed-1' });
  const ended = await eventually('it ends', api, ({ model_changes: changes }) => changes === undefined);
  t.equal(ended.embedding_model, 'zembed-1');
  await api.add('notes', 'a.txt', 'The capstan.');
  await server.stop('SIGKILL');
  await server.restart();
  const { results, warnings } = await ask(api, 'capstan');
  t.match(results, [{ path: 'a.txt', explain: { vector: { similarity: Number } } }]);
  t.equal(warnings, undefined);
});

t.test('a change that is changed again ends with the model that was named last', async (t) => {
  const { service, server, api } = await start(t);
  await server.stop();
  const folder = folderOf(t, { 'model.onnx': tokenVectors() }, 'tokens');
  t.match(await quarry(['models', 'add', folder], { variables: { QUARRY_DATA: server.data } }), { code: 0 });
  await server.restart();
  service.behave('slow');
  const change = (model: string) =>
    api.call('collections/change-model', { collection_name: 'notes', embedding_model: model });
  for (const model of ['letters', 'tokens']) await change(model);
  const variables = { QUARRY_URL: server.url, QUARRY_API_KEY: operatorKey };
  t.match((await quarry(['collections', 'list'], { variables })).out, /^notes\n/);
  const ended = await eventually('it ends', api, ({ model_changes: changes }) => changes === undefined);
  t.equal(ended.embedding_model, 'tokens');
  const found = await ask(api, 'the capstan');
  t.equal(found.results.length, documentsCount);
  t.equal(found.warnings, undefined);
  t.ok(found.results.every(({ explain }) => typeof explain?.vector.similarity === 'number'));
});

t.test('a document that the new model does not take keeps the change, is named, and can go', async (t) => {
  const { service, server, api } = await start(t);
  await api.add('notes', 'long.txt', `${'A long note on the halyard. '.repeat(20)}`);
  service.behave('refuse-long');
  await api.call('collections/change-model', { collection_name: 'notes', embedding_model: 'letters' });
  await eventually('it is named', api, ({ model_changes: [first] = [] }) =>
    /"long\.txt" keeps it: .*does not take a text/.test(first?.waiting_for ?? ''),
  );
  const variables = { QUARRY_URL: server.url, QUARRY_API_KEY: operatorKey };
  t.match(await quarry(['collections', 'list'], { variables }), {
    err: /notes gets the vectors of letters.*long\.txt/,
  });
  await api.call('documents/delete-document', { collection_name: 'notes', path: 'long.txt' });
  const ended = await eventually('it ends', api, ({ model_changes: changes }) => changes === undefined);
  t.equal(ended.embedding_model, 'letters');
  t.equal((await ask(api, 'the capstan')).results.length, documentsCount);
});

t.test('a model can be changed while documents that wait for it fill the queue', async (t) => {
  const { service, server, api } = await start(t);
  await api.call('collections/change-model', { collection_name: 'notes', embedding_model: 'letters' });
  await eventually('it ends', api, ({ model_changes: changes }) => changes === undefined);
  await server.restart({ QUEUE_DOCUMENTS_MAX: '3' });
  service.behave('error');
  const add = (i: number) =>
    api.ask('documents/add-document', {
      ...{ collection_name: 'notes', path: `new ${i}.txt` },
      content: { type: 'text', text: `A new note on the ${words[i]}.` },
    });
  for (let i = 0; i < 3; i += 1) t.equal((await add(i)).status, 201);
  t.match(await add(3), { status: 429, body: { detail: /queue is full/ } });
  await api.call('collections/change-model', { collection_name: 'notes', embedding_model: 'zembed-1' });
  const ended = await eventually('it ends', api, ({ model_changes: changes }) => changes === undefined);
  t.equal(ended.embedding_model, 'zembed-1');
  for (;;) {
    const { num_indexed_documents: indexed } = await api.call('status/get-status', {
      collection_name: 'notes',
    });
    if (indexed === documentsCount + 3) break;
    await sleep(50);
  }
  const found = await ask(api, 'a new note');
  t.equal(found.results.length, documentsCount + 3);
  t.equal(found.warnings, undefined);
});

t.test('a model that comes in a new version makes the vectors again by itself', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-renewed-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const data = join(folder, 'data');
  const letters = folderOf(t, { 'model.onnx': tokenVectors() }, 'letters');
  const models = (...given: string[]) => quarry(['models', ...given], { variables: { QUARRY_DATA: data } });
  t.match(await models('add', letters), { code: 0 });
  const server = await TestServer.start(t, { DATA: data, EMBEDDING_MODEL: 'letters' });
  const api = new Api(server);
  await api.call('collections/add-collection', { collection_name: 'notes' });
  for (const word of ['salt', 'herring', 'gull', 'tide']) await api.add('notes', `${word}.txt`, word);
  await server.stop();
  await models('remove', 'letters', '--yes', '--force');
  t.match(await models('add', letters, '--dimensions', '4'), { code: 0 });
  await server.restart();
  const ended = await eventually('it ends', api, ({ model_changes: changes }) => changes === undefined);
  t.equal(ended.embedding_model, 'letters');
  const { results, warnings } = await ask(api, 'gull');
  t.equal(warnings, undefined);
  t.equal(results[0]?.path, 'gull.txt');
  t.ok(results.every(({ explain }) => typeof explain?.vector.similarity === 'number'));
});
