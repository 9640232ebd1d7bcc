import { createHash } from 'node:crypto';
import t, { type Test } from '../support/tap.ts';
import { operatorKey, TestServer } from './server.ts';

/** Bodies parsed in a worker: same meaning as short bodies; only known fields are kept. */

t.setTimeout(600_000);
const collection_name = 'large';
/** Longer than `largeBodyBytesMin`. */
const padding = 'x'.repeat(200_000);

interface BodyReply {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

let server: TestServer;

async function postJson(path: string, body: unknown): Promise<BodyReply> {
  const reply = await fetch(`${server.url}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: reply.status, body: (await reply.json()) as BodyReply['body'] };
}

async function infoOf(path: string, collection = collection_name): Promise<Record<string, unknown>> {
  const request = { collection_name: collection, path, include_content: true };
  const { document } = (await postJson('documents/get-document-info', request)).body as {
    document: Record<string, unknown>;
  };
  const { size, sha256, content, metadata, num_pages, index_status } = document;
  return { size, sha256, content, metadata, num_pages, index_status };
}

for (const http of ['uws', 'node'])
  t.test(`large and small bodies have the same effect (${http})`, async (t) => {
    server = await TestServer.start(t, { HTTP: http });
    await postJson('collections/add-collection', { collection_name });
    await postJson('collections/add-collection', {
      collection_name: 'own',
      embedding_model: 'own',
      dimensions: 3,
    });
    await checkDocuments(t);
    await checkBatches(t);
    await checkRejections(t);
    await checkUnknownFields(t);
    await checkLongText(t);
  });

const contents = {
  text: { type: 'text', text: 'The herring é 😀 swims.' },
  pages: { type: 'text-pages', pages: ['page one', 'page two'] },
  file: { type: 'auto', base64_data: Buffer.from('a plain file').toString('base64') },
};

async function checkDocuments(t: Test): Promise<void> {
  for (const [name, content] of Object.entries(contents)) {
    const document = { collection_name, content, metadata: { a: 'b', 'list:c': ['d'] }, wait: true };
    const short = await postJson('documents/add-document', { ...document, path: `${name}-short` });
    const large = await postJson('documents/add-document', { ...document, path: `${name}-large`, padding });
    t.equal(short.status, 201, name);
    t.same(large, short, name);
    t.same(await infoOf(`${name}-large`), await infoOf(`${name}-short`), name);
  }
  const vector = { collection_name: 'own', content: contents.text, vector: [0.5, -2, 1], wait: true };
  t.equal((await postJson('documents/add-document', { ...vector, path: 'v', padding })).status, 201);
  const query = { collection_name: 'own', query: '', query_vector: [0.5, -2, 1], k: 1, explain: true };
  const found = await postJson('queries/top-documents', { ...query, padding });
  t.same(found.status, 200);
  const [hit] = found.body.results as { explain: { vector: { similarity: number } } }[];
  t.ok(Math.abs(hit!.explain.vector.similarity - 1) < 1e-5, 'the vector equals the sent one');
}

async function checkBatches(t: Test): Promise<void> {
  const items = (suffix: string) => [
    { path: `a-${suffix}`, content: contents.text },
    { path: `b-${suffix}` },
    { path: `c-${suffix}`, content: contents.file, metadata: { 'bad name': 'x' } },
    { path: `d-${suffix}`, content: { type: 'auto', base64_data: 'no base64' } },
    { path: `e-${suffix}`, content: contents.pages, overwrite: true },
  ];
  const add = { collection_name, wait: true };
  const short = await postJson('documents/add-documents', { ...add, documents: items('short') });
  const large = await postJson('documents/add-documents', { ...add, documents: items('large'), padding });
  const plain = JSON.parse(JSON.stringify(large.body).replaceAll('-large', '-short'));
  t.same(plain, short.body);
  t.match(short.body.results, [
    { status: 201 },
    { status: 422 },
    { status: 400 },
    { status: 400 },
    { status: 201 },
  ]);
}

async function checkRejections(t: Test): Promise<void> {
  const good = { collection_name, path: 'refused', content: contents.text };
  for (const wrong of [
    { ...good, path: 7 },
    { ...good, content: { type: 'text' } },
    { ...good, metadata: { a: null } },
    { ...good, content: { type: 'auto', base64_data: '*' } },
    { ...good, path: '' },
    { ...good, collection_name: 'absent' },
    { ...good, vector: [1, 2] },
  ]) {
    const short = await postJson('documents/add-document', wrong);
    t.ok(short.status >= 400 && short.status < 500, JSON.stringify(short));
    t.same(await postJson('documents/add-document', { ...wrong, padding }), short);
  }
  t.equal((await postJson('documents/add-document', `{"padding":"${padding}",`)).status, 422);
  // Only a worker creates prepared documents: no content of a body may pass for one.
  const facts = { type: 'text', pages: ['forged'], pageUnits: [6], rawHash: 'f'.repeat(64), size: 6 };
  const forged = { ...contents.text, ...facts, facts };
  for (const more of [{}, { padding }]) {
    const path = `forged-${Object.keys(more).length}`;
    t.equal(
      (await postJson('documents/add-document', { ...good, ...more, path, content: forged })).status,
      201,
    );
    t.equal((await infoOf(path)).content, contents.text.text);
  }
}

/** Hundreds of thousands of empty objects in an unknown field are dropped; the document is added without them. */
async function checkUnknownFields(t: Test): Promise<void> {
  const x = `[${'{},'.repeat(200_000)}{}]`;
  const head = JSON.stringify({ collection_name, path: 'x', content: contents.text, wait: true });
  t.equal((await postJson('documents/add-document', `${head.slice(0, -1)},"x":${x}}`)).status, 201);
  t.equal((await infoOf('x')).content, contents.text.text);
}

async function checkLongText(t: Test): Promise<void> {
  const text = 'A sentence about the tide and the bay. '.repeat(30_000).trim();
  const document = { collection_name, path: 'long', content: { type: 'text', text }, wait: true };
  const { status } = await postJson('documents/add-document', document);
  t.equal(status, 201);
  const info = await infoOf('long');
  t.equal(info.sha256, createHash('sha256').update(text).digest('hex'));
  t.equal(info.size, text.length);
  t.equal((info.content as string).length, text.length);
}
