import { AppError, type ValidationIssue } from '../../src/core/app-error.ts';
import { limits } from '../../src/core/limits.ts';
import { unpackTexts } from '../../src/core/packed-texts.ts';
import { parseJson } from '../../src/http/json-body.ts';
import { LargeBodyReader, type LargeBodyTask } from '../../src/http/large-body-reader.ts';
import { canHaveLargeBody } from '../../src/http/pipeline/body-fields.ts';
import { routes } from '../../src/http/routes/routes.ts';
import { collectTransferables, prepareRequest } from '../../src/requests/prepare-request.ts';
import { analyzeText, PreparedBatchItem, PreparedText } from '../../src/requests/prepared-document.ts';
import type { TSchema } from '../../src/schemas/typebox.ts';
import { compileValidator } from '../../src/schemas/validate.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import t from '../support/tap.ts';

/** Request as the main thread receives it from a worker: a structured clone with transferred buffers. */
const bodies = new LargeBodyReader({
  pool: {
    run: async (task, { transferList }) => {
      const outcome = prepareRequest(structuredClone(task, { transfer: [...transferList] }), parseJson);
      return structuredClone(outcome, { transfer: collectTransferables(outcome) });
    },
  },
  semaphore: { acquire: () => null, release: () => {} },
  fileBytesMax: 1_000,
});

function schemaOf(operation: string): TSchema {
  const route = routes.find((each) => each.operation === operation);
  if (route?.kind !== 'json') throw new Error(`${operation} has no JSON body`);
  return route.request;
}

/** A body without content, for workers that a test replaces. */
function emptyBody() {
  return {
    operation: 'embed',
    schema: schemaOf('embed'),
    parts: [],
    params: {},
    metadataBytesMax: 1,
    owner: 'a',
    cancellation: cancellationTokenWith(),
  };
}

async function prepared(
  operation: string,
  body: unknown,
  more: Partial<LargeBodyTask> = {},
): Promise<unknown> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const bytes = new Uint8Array(Buffer.from(text));
  const parts = [bytes.slice(0, 7), bytes.slice(7)];
  const { request } = await bodies.prepare({
    operation,
    schema: schemaOf(operation),
    parts,
    params: {},
    metadataBytesMax: 100,
    owner: 'a',
    cancellation: cancellationTokenWith(),
    ...more,
  });
  return request;
}

t.test('texts arrive as bytes, with the same hash and sizes as on the main thread', async (t) => {
  for (const content of [
    { type: 'text', text: 'é 😀 \ud800 end' },
    { type: 'text-pages', pages: ['one', '', 'zwei 中'] },
    { type: 'text-pages-unordered', pages: [] },
  ] as const) {
    const body = {
      collection_name: 'c',
      path: 'p',
      content,
      metadata: { a: 'b' },
      wait: true,
      x: [{}, {}],
    };
    const request = (await prepared('add-document', body)) as Record<string, unknown>;
    t.same(Object.keys(request).sort(), ['collection_name', 'content', 'metadata', 'path', 'wait']);
    t.ok(request.content instanceof PreparedText);
    const { content: facts } = request.content as PreparedText;
    const expected = analyzeText(content as Parameters<typeof analyzeText>[0]);
    t.same({ ...facts, pages: unpackTexts(facts.pages) }, expected);
  }
});

t.test('files and vectors are decoded', async (t) => {
  const base64 = (floats: number[]) => Buffer.from(Float32Array.from(floats).buffer).toString('base64');
  const file = { type: 'auto', base64_data: Buffer.from('abc').toString('base64') };
  const read = (await prepared('parse-document', { base64_data: file.base64_data })) as typeof file;
  t.same(Buffer.from(read.base64_data), Buffer.from('abc'));
  const body = {
    collection_name: 'c',
    path: 'p',
    content: file,
    vector: [1, 2.5],
    vectors: [[1], base64([2, 3])],
  };
  const request = (await prepared('add-document', body)) as Record<string, never>;
  t.same(request.content, { type: 'auto', base64_data: new Uint8Array(Buffer.from('abc')) });
  t.same(request.vector, Float64Array.of(1, 2.5));
  t.same(request.vectors, [Float64Array.of(1), Float64Array.of(2, 3)]);
});

t.test('each document of a batch is accepted or rejected individually', async (t) => {
  const good = { path: 'good', content: { type: 'text', text: 'x' }, overwrite: true, unknown: 1 };
  const items = [
    good,
    { path: 'no content' },
    7,
    { ...good, metadata: { a: 'x'.repeat(200) } },
    { ...good, content: { type: 'auto', base64_data: '*' } },
    { ...good, content: { type: 'auto', base64_data: 'A'.repeat(4_000) } },
  ];
  const { documents } = (await prepared('add-documents', { collection_name: 'c', documents: items })) as {
    documents: PreparedBatchItem[];
  };
  t.same(
    documents.map((item) => item.path),
    ['good', 'no content', null, 'good', 'good', 'good'],
  );
  const { content, ...fields } = documents[0]!.unpack();
  t.same(fields, { path: 'good', overwrite: true });
  t.ok(content instanceof PreparedText);
  for (const [i, code] of ['invalid', 'invalid', 'bad_request', 'bad_request', 'too_large'].entries())
    t.throws(() => documents[i + 1]!.unpack(), { code });
});

t.test('errors of a body have the same text as on the main thread', async (t) => {
  for (const text of ['{', '[]', '{"collection_name":"c"}', '"x"', 'nul'])
    await t.rejects(prepared('add-document', text), { code: 'invalid' });
  const error = await prepared('add-document', '{"collection_name":"c"}').catch((thrown: unknown) => thrown);
  t.match(error, { code: 'invalid', options: { issues: [{ loc: ['body', /./] }] } });
  await t.rejects(prepared('add-documents', { collection_name: 'c', documents: [] }), {
    code: 'bad_request',
  });
});

t.test('requests of other operations keep their known fields', async (t) => {
  const query = { collection_name: 'c', query: 'q', k: 3, filter: { a: { $eq: 'b' } } };
  t.same(await prepared('top-snippets', { ...query, x: [{}, {}] }), query);
});

t.test('a text has at most as many pages as a parsed table', async (t) => {
  const text = (pages: number) => ({
    collection_name: 'c',
    path: 'p',
    content: { type: 'text-pages', pages: Array(pages).fill('') },
  });
  await t.resolves(prepared('add-document', text(limits.textPagesMax)));
  await t.rejects(prepared('add-document', text(limits.textPagesMax + 1)), { code: 'too_large' });
});

t.test('a large request is used in another turn of the event loop than it is received', async (t) => {
  const reader = new LargeBodyReader({
    pool: { run: async () => ({ request: {} }) },
    semaphore: { acquire: () => null, release: () => {} },
    fileBytesMax: 1,
  });
  let turns = 0;
  setImmediate(() => {
    turns += 1;
  });
  await reader.prepare(emptyBody());
  t.equal(turns, 1);
});

t.test('a disconnected caller does not occupy a thread', async (t) => {
  const left = new Error('gone');
  let ran = false;
  const waiting = new LargeBodyReader({
    pool: {
      run: async () => {
        ran = true;
      },
    },
    semaphore: { acquire: () => Promise.reject(left), release: () => t.fail('no thread was acquired') },
    fileBytesMax: 1,
  });
  await t.rejects(waiting.prepare(emptyBody()), left);
  t.notOk(ran);
});

t.test('the path of a batch item is known without parsing its fields', async (t) => {
  const item = new PreparedBatchItem({
    path: 'a.txt',
    fields: 'not parsed',
    vectors: [],
    content: { type: 'auto', base64_data: new Uint8Array(0) },
  });
  t.equal(item.path, 'a.txt');
  t.throws(() => item.unpack(), SyntaxError);
});

async function issuesOf(validate: () => unknown): Promise<readonly ValidationIssue[]> {
  try {
    await validate();
    return [];
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid') throw error;
    return error.options.issues ?? [];
  }
}

t.test('requests of every operation get the same issues in a worker as on the main thread', async (t) => {
  for (const route of routes) {
    if (route.kind !== 'json' || !canHaveLargeBody(route)) continue;
    const validate = compileValidator(route.request);
    for (const body of [route.example, {}, [], { ...(route.example as object), collection_name: 7 }]) {
      const expected = await issuesOf(() => validate(body));
      const issues = await issuesOf(() => prepared(route.operation, body));
      t.same(issues, expected, `${route.operation} ${JSON.stringify(body)}`);
    }
  }
});

t.test('parameters of the path are fields of the request', async (t) => {
  const params = { vector_store_id: 'handbook' };
  const body = { query: 'refunds', vector_store_id: 'other', x: 1 };
  t.same(await prepared('search-vector-store', body, { params }), { query: 'refunds', ...params });
  await t.rejects(prepared('search-vector-store', [], { params }), { code: 'invalid' });
});

t.test('unknown fields are dropped at every level', async (t) => {
  const weights = { lexical: 1, vector: 0 };
  const request = { collection_name: 'c', query_defaults: { weights } };
  t.same(
    await prepared('update-collection', {
      ...request,
      x: [1],
      query_defaults: { x: 1, weights: { ...weights, x: 1 } },
    }),
    request,
  );
  t.same(await prepared('get-collection-list', { x: [1] }), {});
});
