import { createHash } from 'node:crypto';
import type { Test } from '../support/tap.ts';
import type { TestServer } from './server.ts';
import { createTenant } from './tenant.ts';

/** Bodies parsed in a worker: same meaning as short bodies; only known fields are kept. */

const collection_name = 'large';
/** Longer than `largeBodyBytesMin`. */
const padding = 'x'.repeat(200_000);

interface BodyReply {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

type PostJson = (path: string, body: unknown) => Promise<BodyReply>;

async function readInfo(postJson: PostJson, path: string): Promise<Record<string, unknown>> {
  const request = { collection_name, path, include_content: true };
  const { document } = (await postJson('documents/get-document-info', request)).body as {
    document: Record<string, unknown>;
  };
  const { size, sha256, content, metadata, num_pages, index_status } = document;
  return { size, sha256, content, metadata, num_pages, index_status };
}

/** Checks bodies that a worker parses, in an organization of their own. */
export async function checkLargeBodies(t: Test, server: TestServer): Promise<void> {
  const { key } = await createTenant(server);
  const postJson: PostJson = async (path, body) => {
    const reply = await fetch(`${server.url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: reply.status, body: (await reply.json()) as BodyReply['body'] };
  };
  await postJson('collections/add-collection', { collection_name });
  await postJson('collections/add-collection', {
    collection_name: 'own',
    embedding_model: 'own',
    dimensions: 3,
  });
  await checkDocuments(t, postJson);
  await checkBatches(t, postJson);
  await checkRejections(t, postJson);
  await checkUnknownFields(t, postJson);
  await checkLongText(t, postJson);
}

const contents = {
  text: { type: 'text', text: 'The herring é 😀 swims.' },
  pages: { type: 'text-pages', pages: ['page one', 'page two'] },
  file: { type: 'auto', base64_data: Buffer.from('a plain file').toString('base64') },
};

async function checkDocuments(t: Test, postJson: PostJson): Promise<void> {
  for (const [name, content] of Object.entries(contents)) {
    const document = { collection_name, content, metadata: { a: 'b', 'list:c': ['d'] }, wait: true };
    const short = await postJson('documents/add-document', { ...document, path: `${name}-short` });
    const large = await postJson('documents/add-document', { ...document, path: `${name}-large`, padding });
    t.equal(short.status, 201, name);
    t.same(large, short, name);
    t.same(await readInfo(postJson, `${name}-large`), await readInfo(postJson, `${name}-short`), name);
  }
  const vector = { collection_name: 'own', content: contents.text, vector: [0.5, -2, 1], wait: true };
  t.equal((await postJson('documents/add-document', { ...vector, path: 'v', padding })).status, 201);
  const query = { collection_name: 'own', query: '', query_vector: [0.5, -2, 1], k: 1, explain: true };
  const found = await postJson('queries/top-documents', { ...query, padding });
  t.same(found.status, 200);
  const [hit] = found.body.results as { explain: { vector: { similarity: number } } }[];
  t.ok(Math.abs(hit!.explain.vector.similarity - 1) < 1e-5, 'the vector equals the sent one');
}

async function checkBatches(t: Test, postJson: PostJson): Promise<void> {
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

async function checkRejections(t: Test, postJson: PostJson): Promise<void> {
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
    t.equal((await readInfo(postJson, path)).content, contents.text.text);
  }
}

/** Hundreds of thousands of empty objects in an unknown field are dropped; the document is added without them. */
async function checkUnknownFields(t: Test, postJson: PostJson): Promise<void> {
  const x = `[${'{},'.repeat(200_000)}{}]`;
  const head = JSON.stringify({ collection_name, path: 'x', content: contents.text, wait: true });
  t.equal((await postJson('documents/add-document', `${head.slice(0, -1)},"x":${x}}`)).status, 201);
  t.equal((await readInfo(postJson, 'x')).content, contents.text.text);
}

async function checkLongText(t: Test, postJson: PostJson): Promise<void> {
  const text = 'A sentence about the tide and the bay. '.repeat(30_000).trim();
  const document = { collection_name, path: 'long', content: { type: 'text', text }, wait: true };
  const { status } = await postJson('documents/add-document', document);
  t.equal(status, 201);
  const info = await readInfo(postJson, 'long');
  t.equal(info.sha256, createHash('sha256').update(text).digest('hex'));
  t.equal(info.size, text.length);
  t.equal((info.content as string).length, text.length);
}
