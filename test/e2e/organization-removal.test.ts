import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CliResult, runQuarry, runQuarryProcess } from '../cli/quarry.ts';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { CheckedApiClient, waitFor } from './checked-api-client.ts';
import { signInAsOperator } from './operator.ts';
import { sendRequest } from './people.ts';
import { adminKey } from './server.ts';
import { joinSourceServer, refusedPort } from './source-server.ts';

/** Administration from the command line, and complete deletion of an organization during concurrent requests. */

t.setTimeout(testFileMsMax);

const { server, folder } = await joinSourceServer();
const sourceFolder = join(folder, 'removal');
mkdirSync(sourceFolder);
writeFileSync(join(sourceFolder, 'source.txt'), 'Gneiss of a source.');
/** Entries of a folder in the data directory that this file has created. */
function entriesIn(...names: readonly string[]): () => string[] {
  const path = join(server.data, ...names);
  const list = () => (existsSync(path) ? readdirSync(path) : []);
  const others = new Set(list());
  return () => list().filter((name) => !others.has(name));
}
const indexes = entriesIn('index');
const images = entriesIn('cache', 'pages');

function runAsAdministrator(...words: readonly string[]): Promise<CliResult> {
  return runWith({ QUARRY_ADMIN_KEY: adminKey }, ...words);
}

function runWith(credentials: Record<string, string>, ...words: readonly string[]): Promise<CliResult> {
  return runQuarry(words, { variables: { QUARRY_URL: server.url, ...credentials } });
}

const session = await signInAsOperator(server);
const account = (path: string, body: object) =>
  sendRequest(`${server.url}/api/organizations/${path}`, {
    headers: { authorization: `Bearer ${session}` },
    body,
  });
const { organization_id } = (await account('add-organization', { name: 'Acme' })).body;
const keyRequest = { organization_id, name: 'Website', permission: 'all' };
const { api_key } = (await account('api-keys/add-api-key', keyRequest)).body;
const acme = new CheckedApiClient(server, api_key);
const collection_name = 'handbook';
await acme.call('webhooks/add-webhook', { url: `http://127.0.0.1:${refusedPort}/` });
await acme.call('collections/add-collection', { collection_name });
const documents = Array.from({ length: 60 }, (_, i) => ({
  path: `${i}.txt`,
  content: { type: 'text', text: `Granite number ${i}. `.repeat(40) } as const,
  metadata: { number: String(i) },
}));
await acme.addAll(collection_name, documents);
await acme.add(collection_name, '0.txt', 'Basalt instead.', { overwrite: true });
await acme.call('documents/delete-document', { collection_name, path: '1.txt' });
for (let i = 0; i < 5; i += 1) await acme.find(collection_name, 'granite');
const pdf = { type: 'auto', base64_data: Buffer.from(buildPdf(['seen'])).toString('base64') } as const;
await acme.add(collection_name, 'seen.pdf', pdf);
const { page } = await acme.call('documents/get-page-info', {
  collection_name,
  path: 'seen.pdf',
  page_index: 0,
});
await (await fetch(page.image_url ?? '')).arrayBuffer();

await t.test('usage: totals, over time, of one collection, and as an export', async (t) => {
  const soFar = await runQuarryProcess(['usage', '--key', api_key], {
    variables: { QUARRY_URL: server.url },
  });
  t.equal(soFar.code, 0);
  t.match(soFar.out, /^Metric +This month +Bytes +Units +All time +Bytes +Units\n/);
  t.match(soFar.out, /\nDocuments added +62 .+ 62 +62 .+ 62\n/);
  t.match(soFar.out, /\nQueries +5 /);
  const byDay = await runAsAdministrator('usage', '--by', 'day', '--key', api_key);
  t.match(
    byDay.out,
    /^From \(UTC\) +Added +Indexed +Deleted +Queries +p50 ms +p95 ms +p99 ms +Rerank +Embed\n20\d\d-\d\d-\d\d +62 +62 +1 +5( +[\d.]+){3} +0 +0\n/,
  );
  const ofOne = await runAsAdministrator(
    'usage',
    collection_name,
    '--by',
    'hour',
    '--json',
    '--key',
    api_key,
  );
  const rows = JSON.parse(ofOne.out);
  t.same(Object.keys(rows), ['documents', 'queries']);
  t.match(rows.queries, [{ organization_id, query_type: 'documents', event_count: 5 }]);
  const inPerson = await runWith({}, 'usage', '--organization', organization_id, '--key', session);
  t.same(inPerson, soFar, 'a signed-in user reads the same');
  t.match(await runWith({}, 'usage', '--key', session), { code: 1, err: /x-quarry-organization/ });
  t.match(await runAsAdministrator('usage', '--since', 'yesterday', '--key', api_key), {
    code: 2,
    err: /--since is "yesterday"/,
  });
});

await t.test('audit export: all pages, as JSON and CSV, for administrators and owners', async (t) => {
  const soon = '2099-01-01T00:00:00.000Z';
  const named = ['--organization', organization_id] as const;
  t.match(await runAsAdministrator('keys', 'add', 'until then', '--expires', '2099-01-01', ...named), {
    code: 0,
    out: /^ze_\w{36}\n$/,
  });
  const listed = JSON.parse((await runAsAdministrator('keys', 'list', '--json', ...named)).out).api_keys;
  t.match(listed, [{ name: 'Website', expires_at: null, last_used_at: /^20/ }, { expires_at: soon }]);
  t.match(await runAsAdministrator('keys', 'add', 'too late', '--expires', '2020-01-01', ...named), {
    code: 1,
  });
  const evil = { organization_id, name: '=HYPERLINK("x")', permission: 'read_only' };
  const issued = await account('api-keys/add-api-key', evil);
  const lines = (await runAsAdministrator('audit', 'export', '--organization', organization_id)).out
    .trim()
    .split('\n');
  const entries = lines.map((line) => JSON.parse(line));
  t.match(entries.at(-1), { action: 'organization.created', address: '127.0.0.1' });
  t.match(entries[0], { action: 'api_key.created', details: { name: evil.name } });
  t.notMatch(lines.join('\n'), issued.body.api_key);
  const csv = (
    await runAsAdministrator('audit', 'export', '--organization', organization_id, '--format', 'csv')
  ).out;
  t.match(csv, /^at,action,actor,target,address,details,id\n20/);
  t.match(csv, /,"\{""name"":""=HYPERLINK/, 'text chosen by users is quoted');
  t.equal(csv.trim().split('\n').length, lines.length + 1);
  const owners = await runWith({}, 'audit', 'export', '--organization', organization_id, '--key', session);
  t.match(owners, { code: 0, out: lines.slice(1).join('\n') }, 'an owner’s session reads the same');
  const keys = await runWith({}, 'audit', 'export', '--organization', organization_id, '--key', api_key);
  t.match(keys, { code: 1, out: '', err: /get-audit-log requires a signed-in user, not an API key/ });
  const all = await runWith({}, 'audit', 'export', '--installation', '--key', session);
  t.match(all, { out: '', err: /admin/i }, 'but not entries without an organization');
  t.not(all.code, 0);
  const whole = (await runAsAdministrator('audit', 'export', '--installation', '--since', '2020-01-01')).out;
  t.match(whole, /"action":"user.login"/);
  const cursor = await sendRequest(`${server.url}/v1/admin/get-audit-log`, {
    headers: { authorization: `Bearer ${adminKey}` },
    body: { organization_id, cursor: 'nonsense' },
  });
  t.match(cursor, { status: 400, body: { detail: /next_cursor/ } });
});

await t.test('a server killed during the removal of an organization leaves no data of it', async (t) => {
  await acme.call('models/embed', { model: 'zembed-1', input_type: 'query', input: 'granite' });
  await acme.call('changes/get-changes');
  const source = {
    source_name: 'files',
    collection_name,
    directory: { path: sourceFolder },
    schedule: 'off',
  };
  await acme.call('sources/add-source', source);
  await acme.call('sources/sync-source', { source_name: 'files' });
  await waitFor('the source is synchronized', async () =>
    (await acme.paths(collection_name)).includes('source.txt') ? true : null,
  );
  const before = await waitFor('the rate limit is persisted', async () => {
    const ran = await runAsAdministrator('doctor', '--organization', organization_id);
    return ran.out.includes('\nbuckets ') ? ran : null;
  });
  t.match(before, { code: 1, out: /exists\.\n.*Remaining rows/s });
  for (const file of [
    'organisations',
    'apiKeys',
    'collections',
    'members',
    'usage',
    'auditEntries',
    'webhooks',
    'webhookCursors',
    'webhookDeliveries',
    'collectionId',
    'changeFeeds',
    'feedChanges',
    'sources',
    'sourceItems',
  ])
    t.match(before.out, new RegExp(`^${file} +\\d+$`, 'm'));
  t.equal(indexes().length, 1);
  t.equal(images().length, 1);
  t.match(await account('delete-organization', { organization_id, confirm_name: 'Acme' }), { status: 200 });
  const removalLogged = /"msg":"organization removed"/;
  await server.stop('SIGKILL');
  t.notMatch(server.fullLog, removalLogged, 'the server is killed before the removal ends');
  await server.restart();
  t.equal(await acme.status('collections/get-collection-list', {}), 401);
  const authorization = `Bearer ${adminKey}`;
  const found = await waitFor('removal', async () => {
    const address = `${server.url}/v1/admin/inspect-organization`;
    const { body } = await sendRequest(address, { headers: { authorization }, body: { organization_id } });
    return body.state === 'gone' ? body : null;
  });
  // Without this the absence of the event above would not show that the server was killed in time.
  await waitUntil('the log event of the removal', () => removalLogged.test(server.fullLog));
  t.match(found, { removed_at: /^20/, remains: [], orphans: [] });
  t.same(indexes(), []);
  t.same(images(), []);
  t.match(await runAsAdministrator('doctor', '--organization', organization_id), {
    code: 0,
    out: /does not exist; its data was removed at 20.*\.\nNo rows in the store refer to it\./,
  });
});

await t.test(
  'the administrator deletes organizations without owners, but not the first organization',
  async (t) => {
    const administration = new CheckedApiClient(server, adminKey);
    const orphan = { organization_id: '77777777-7777-4777-8777-777777777777' };
    await administration.call('admin/create-organization', orphan);
    const { api_key: key } = await administration.call('admin/add-api-key', {
      ...orphan,
      name: 'k',
      permission: 'all',
    });
    const user = new CheckedApiClient(server, key);
    t.equal(await user.status('collections/add-collection', { collection_name }), 201);
    t.equal(await administration.status('admin/delete-organization', orphan), 200);
    t.equal(await user.status('collections/get-collection-list', {}), 401);
    t.equal(await administration.status('admin/delete-organization', orphan), 404);
    t.equal(await administration.status('admin/get-organization', orphan), 404);
    const me = await sendRequest(`${server.url}/api/users/get-user`, {
      headers: { authorization: `Bearer ${session}` },
      body: {},
    });
    const first = { organization_id: me.body.organizations[0].organization_id };
    t.equal(await administration.status('admin/delete-organization', first), 409);
  },
);
