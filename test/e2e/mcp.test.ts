import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { adminKey, operatorKey } from './server.ts';
import { joinSharedServer } from './shared-server.ts';

/** The client of the MCP SDK over HTTP and over standard input and output. */

t.setTimeout(testFileMsMax);
const { server, organization_id } = await joinSharedServer();
const administration = new CheckedApiClient(server, adminKey);
const command = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
const long = Array.from({ length: 400 }, (_, i) => `Line ${i} of the \u{1F30B} lava report.`).join('\n');

async function newKey(permission: string, restriction?: object): Promise<string> {
  const body = { organization_id, name: permission, permission, restriction };
  return (await administration.call('admin/add-api-key', body)).api_key;
}

const key = await newKey('all');
const readOnlyKey = await newKey('read_only');
const restrictedKey = await newKey('all', { collection_names: ['handbook'], filter: { tenant: 'a' } });
const api = new CheckedApiClient(server, key);
for (const collection_name of ['handbook', 'secret'])
  await api.call('collections/add-collection', { collection_name });
await api.addAll('handbook', [
  {
    path: 'refunds.txt',
    content: { type: 'text', text: 'Refunds are paid within 14 days.' },
    metadata: { tenant: 'a' },
  },
  { path: 'lava.txt', content: { type: 'text', text: long }, metadata: { tenant: 'b' } },
  {
    path: 'scans/contract 1.pdf',
    content: {
      type: 'auto',
      base64_data: Buffer.from(buildPdf(['The contract ends in May.', 'Costs.'])).toString('base64'),
    },
    metadata: { tenant: 'a' },
  },
]);

async function connectHttp(
  t: Test,
  bearer: string | null,
  mode: 'legacy' | 'auto' = 'legacy',
): Promise<Client> {
  const headers = bearer === null ? {} : { authorization: `Bearer ${bearer}` };
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
    requestInit: { headers },
  });
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  t.teardown(() => client.close());
  return client;
}

async function connectStdio(t: Test, bearer: string, args: readonly string[] = []): Promise<Client> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [command, 'mcp', ...args],
    env: { PATH: '/usr/bin:/bin', QUARRY_URL: server.url, QUARRY_API_KEY: bearer },
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  t.teardown(() => client.close());
  return client;
}

async function callTool(client: Client, name: string, args: object = {}) {
  const result = await client.callTool({ name, arguments: { ...args } });
  const [first] = result.content;
  return { ...result, text: first?.type === 'text' ? first.text : '' };
}

const names = ['search', 'find_similar', 'read_document', 'list_collections', 'list_documents'];
const allNames = [...names, 'add_document', 'delete_document'];

/** Checks that are the same over both transports. */
async function checkReading(t: Test, client: Client): Promise<void> {
  t.equal((await callTool(client, 'list_collections')).text, 'handbook\nsecret');
  const found = await callTool(client, 'search', {
    collection: 'handbook',
    query: 'How long do refunds take?',
  });
  t.match(found.text, /^\[1\] refunds\.txt, page 0, characters 0-32, score [\d.]+\nRefunds are paid/);
  const filter = { tenant: 'b' };
  const filtered = await callTool(client, 'search', {
    collection: 'handbook',
    query: 'refunds lava',
    filter,
  });
  t.match(filtered.text, /lava\.txt/);
  t.notMatch(filtered.text, /refunds\.txt/);
  const several = await callTool(client, 'search', {
    collection: 'handbook',
    query: 'refunds',
    other_queries: ['lava'],
    max_results: 2,
  });
  for (const path of ['refunds.txt', 'lava.txt']) t.ok(several.text.includes(path), `${path} is found`);
  const similar = await callTool(client, 'find_similar', { collection: 'handbook', path: 'refunds.txt' });
  t.match(similar.text, /^\[1\] /);
  t.notMatch(similar.text, /refunds\.txt/, 'the source is left out');
  const ordered = await callTool(client, 'search', {
    collection: 'handbook',
    query: 'refunds lava contract',
    sort: [{ field: 'tenant', order: 'desc' }],
    facets: ['tenant'],
  });
  t.match(ordered.text, /^\[1\] lava\.txt.*\n\nValues of tenant \(2\): "a" \(2\), "b" \(1\)$/s);
  const pageArguments = { collection: 'handbook', query: 'refunds lava contract', max_results: 1 };
  const firstPage = await callTool(client, 'search', pageArguments);
  const cursor = /\n\nFor more results, call again with cursor: "(\w+)"$/.exec(firstPage.text)?.[1];
  const secondPage = await callTool(client, 'search', { ...pageArguments, cursor });
  const firstResult = /^\[1\] \S+/;
  t.not(firstResult.exec(secondPage.text)?.[0], firstResult.exec(firstPage.text)?.[0], 'the next page');
  const grouped = await callTool(client, 'search', {
    ...pageArguments,
    max_results: 2,
    group_by: { field: 'tenant', size: 1 },
  });
  t.match(grouped.text.match(/^"[ab]":\n\[\d\]/gm)?.toSorted(), [/"a":/, /"b":/]);
  const documents = await callTool(client, 'list_documents', { collection: 'handbook', limit: 2 });
  t.match(
    documents.text,
    /^lava\.txt \(indexed, 1 pages\) \{"tenant":"b"\}\nrefunds\.txt .*\nFor more.*"refunds.txt"$/,
  );
  const page = { collection: 'handbook', path: 'scans/contract 1.pdf', page: 0 };
  const read = await callTool(client, 'read_document', page);
  t.match(read.text, /page 0 of 2, characters 0-\d+ of \d+\n\nThe contract ends in May\./);
  const uri = 'quarry://page-images/handbook/scans%2Fcontract%201.pdf/0';
  t.match(read.content[1], { type: 'resource_link', uri, mimeType: 'image/jpeg' });
  const [image] = (await client.readResource({ uri })).contents;
  t.ok(image !== undefined && 'blob' in image);
  const { blob } = image as { blob: string };
  t.same([...Buffer.from(blob, 'base64').subarray(0, 3)], [0xff, 0xd8, 0xff], 'a JPEG');
  t.match((await client.listResourceTemplates()).resourceTemplates, [{ mimeType: 'image/jpeg' }]);
}

await t.test('HTTP: the tools search, list and read', async (t) => {
  const client = await connectHttp(t, key);
  const { tools } = await client.listTools();
  t.same(
    tools.map(({ name }) => name),
    allNames,
  );
  t.match(tools[0], { inputSchema: { type: 'object', required: ['collection', 'query'] } });
  await checkReading(t, client);
});

await t.test('HTTP: the protocol of 2026-07-28, without initialization', async (t) => {
  const client = await connectHttp(t, key, 'auto');
  t.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
  await checkReading(t, client);
});

await t.test('stdio: the tools search, list and read', async (t) => {
  const client = await connectStdio(t, key);
  t.same(
    (await client.listTools()).tools.map(({ name }) => name),
    names,
  );
  await checkReading(t, client);
});

await t.test('a long document is read in parts within the token budget', async (t) => {
  const client = await connectHttp(t, key);
  const document = { collection: 'handbook', path: 'lava.txt', max_tokens: 500 };
  let joined = '';
  for (let offset: number | null = 0; offset !== null; ) {
    const { text } = await callTool(client, 'read_document', { ...document, offset });
    const [, content = '', next] =
      /^[^\n]+\n\n(.*?)(?:\n\nTo continue, call again with offset (\d+)\.)?$/s.exec(text) ?? [];
    t.ok(Buffer.byteLength(content) <= 2_000);
    joined += content;
    offset = next === undefined ? null : Number(next);
  }
  t.equal(joined, long);
  const search = { collection: 'handbook', query: 'lava report', max_tokens: 100, max_results: 20 };
  const { text } = await callTool(client, 'search', search);
  t.ok(Buffer.byteLength(text) < 600);
  t.match(text, /\(cut off\)|more results do not fit/);
});

await t.test('errors of tools are results, errors of the protocol are not', async (t) => {
  const client = await connectHttp(t, key);
  const cases: [string, object, RegExp][] = [
    ['search', { collection: 'none', query: 'x' }, /"none" does not exist/],
    ['search', { collection: 'handbook' }, /arguments\.query/],
    ['search', { collection: 'handbook', query: 'x', max_results: 51 }, /arguments\.max_results/],
    ['search', { collection: 'handbook', query: 'x', filter: { a: { $like: 'b' } } }, /unknown operator/],
    ['read_document', { collection: 'handbook', path: 'none' }, /no document "none"/],
    ['read_document', { collection: 'handbook', path: 'lava.txt', page: 1 }, /Page 1 does not exist/],
  ];
  for (const [tool, args, message] of cases) {
    const result = await callTool(client, tool, args);
    t.equal(result.isError, true);
    t.match(result.text, message);
  }
  await t.rejects(client.callTool({ name: 'format_disk', arguments: {} }), /Available tools: search/);
  for (const uri of [
    'quarry://page-images/handbook/lava.txt/0',
    'file:///etc/passwd',
    'quarry://page-images/none/a/0',
  ])
    await t.rejects(client.readResource({ uri }), /not found/i);
});

await t.test('writing needs the setting and a key that may write', async (t) => {
  const document = {
    collection: 'handbook',
    path: 'new.txt',
    text: 'Basalt is dark.',
    metadata: { tenant: 'a' },
  };
  const overHttp = await connectHttp(t, key);
  t.match(await callTool(overHttp, 'add_document', document), { text: /Status: indexed/ });
  t.match(await callTool(overHttp, 'add_document', document), { isError: true, text: /already exists/ });
  t.match(await callTool(overHttp, 'delete_document', document), { text: 'Deleted new.txt.' });
  const readOnly = await connectHttp(t, readOnlyKey);
  t.same(
    (await readOnly.listTools()).tools.map(({ name }) => name),
    names,
  );
  await t.rejects(callTool(readOnly, 'add_document', document), /does not exist/);
  const overStdio = await connectStdio(t, readOnlyKey, ['--write']);
  t.same(
    (await overStdio.listTools()).tools.map(({ name }) => name),
    allNames,
  );
  t.match(await callTool(overStdio, 'add_document', document), { isError: true, text: /read-only/ });
  t.same(await api.paths('handbook'), ['lava.txt', 'refunds.txt', 'scans/contract 1.pdf']);
});

await t.test('a restricted key sees its collections and documents only', async (t) => {
  const client = await connectHttp(t, restrictedKey);
  t.equal((await callTool(client, 'list_collections')).text, 'handbook');
  t.match(await callTool(client, 'search', { collection: 'secret', query: 'x' }), { text: /does not exist/ });
  t.notMatch((await callTool(client, 'search', { collection: 'handbook', query: 'lava' })).text, /lava\.txt/);
  const hidden = { collection: 'handbook', path: 'lava.txt' };
  t.match(await callTool(client, 'read_document', hidden), {
    isError: true,
    text: /no document "lava\.txt"/,
  });
  const foreign = await connectHttp(t, operatorKey);
  t.equal((await callTool(foreign, 'list_collections')).text, 'There are no collections.');
});

await t.test('HTTP: invalid and unsupported messages are rejected', async (t) => {
  await t.rejects(connectHttp(t, null), /API key is missing/);
  const post = (body: unknown, method = 'POST') =>
    fetch(`${server.url}/mcp`, {
      method,
      headers: { authorization: `Bearer ${key}` },
      ...(method === 'POST' ? { body: JSON.stringify(body) } : {}),
    });
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const listed = await post(call);
  t.equal(listed.headers.get('content-type'), 'application/json');
  t.match(await listed.json(), { jsonrpc: '2.0', id: 1, result: { tools: Array } });
  t.equal((await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status, 202);
  t.match(await (await post({ ...call, method: 'none' })).json(), { error: { code: -32_601 } });
  t.equal((await post([call])).status, 400, 'a batch');
  t.equal((await post({ ...call, method: 'subscriptions/listen' })).status, 400);
  t.equal((await post('text')).status, 422);
  t.equal((await post({ ...call, params: { x: 'x'.repeat(140_000) } })).status, 413);
  t.equal((await post(null, 'GET')).status, 405);
});
