import { once } from 'node:events';
import { request } from 'node:http';
import t from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { adminKey, operatorKey, TestServer } from './server.ts';

/** Operations about the whole installation, and its end. */

t.setTimeout(600_000);

const server = await TestServer.start(t, { LOG_LEVEL: 'debug', SLOW_QUERY_MS: '1', TOOLS_ISOLATION: 'off' });
const api = new CheckedApiClient(server);
const administrator = new CheckedApiClient(server, adminKey);

t.test('the log is read backwards, filtered and followed', async (t) => {
  await api.call('collections/add-collection', { collection_name: 'secret' });
  const ready = await administrator.call('admin/get-log-lines', { text: 'READY', level: 'info' });
  t.match(ready.lines, [{ event: 'ready', level: 'info', fields: { collections: 0 } }]);

  const { next_cursor: cursor } = await administrator.call('admin/get-log-lines', { limit: 0 });
  await api.add('secret', 'a.pdf', {
    type: 'auto',
    base64_data: Buffer.from('%PDF-1.7\nno objects').toString('base64'),
  });
  const failed = await administrator.call('admin/get-log-lines', { cursor, text: 'document failed' });
  t.match(failed.lines, [{ event: 'document failed', fields: { code: 'corrupt' } }]);
  const rest = await administrator.call('admin/get-log-lines', {
    cursor: failed.next_cursor,
    text: 'document failed',
  });
  t.same(rest.lines, []);

  const before = await administrator.call('admin/get-log-lines', { cursor: 'elsewhere-7', limit: 3 });
  t.match(before.lines.length, 3, 'a cursor of another start continues with the first line');
  const replies = [{ cursor: 'x' }, { level: 'fatal' }, { limit: 1_001 }].map((body) =>
    administrator.request('admin/get-log-lines', body),
  );
  for (const { status } of await Promise.all(replies)) t.equal(status, 422);
});

t.test('the log contains no secrets, and no text with zero data retention', async (t) => {
  await api.addAll('secret', [{ path: 'b.txt', content: { type: 'text', text: 'the gull sits on a wall' } }]);
  const organization_id = /First organization: (\S+)/.exec(server.printedText)?.[1] ?? '';
  const readAll = () => administrator.call('admin/get-log-lines', { limit: 1_000 });
  await waitUntil('a slow query in the log', async () => {
    await api.find('secret', 'visible walrus');
    return (await readAll()).lines.some(({ fields }) => fields.query === 'visible walrus');
  });
  await administrator.call('admin/update-organization', { organization_id, zdr: true });
  const slowQueries = async () =>
    (await readAll()).lines.filter(({ event }) => event === 'slow query').length;
  const before = await slowQueries();
  await waitUntil('a slow query without text in the log', async () => {
    await api.find('secret', 'hidden walrus');
    return (await slowQueries()) > before;
  });
  const text = JSON.stringify(await readAll());
  t.notMatch(text, 'hidden walrus');
  for (const secret of [operatorKey, adminKey]) t.notMatch(text, secret);
});

t.test('the health names the checks, the components and the versions', async (t) => {
  const health = await administrator.call('admin/get-health');
  const checks = Object.fromEntries(health.checks.map((check) => [check.check, check]));
  t.match(checks['data directory'], { state: 'ok', detail: server.data });
  t.match(checks.backups, { state: 'warning', advice: /QUARRY_BACKUP_TARGET|Set it to a folder/ });
  t.equal(health.components.find(({ component }) => component === 'collections')?.detail, 'loaded');
  t.equal(health.state, health.checks.some(({ state }) => state === 'failed') ? 'failed' : 'warning');
  t.equal(health.node_version, process.versions.node);
  t.ok(health.memory_used_bytes > 1e6 && health.disk_free_bytes > 0);
  t.ok(Date.parse(health.started_at) <= Date.now());
});

t.test('settings are listed with their sources, and secrets without their values', async (t) => {
  const { settings, file } = await administrator.call('admin/get-settings');
  t.equal(file, null);
  const find = (variable: string) => settings.find((setting) => setting.variable === variable);
  t.match(find('QUARRY_SLOW_QUERY_MS'), { value: 1, source: 'variable', unit: 'milliseconds', default: 0 });
  t.match(find('QUARRY_HOST'), { value: '127.0.0.1', source: 'default', section: /Server/ });
  t.match(find('QUARRY_ADMIN_KEY'), { value: null, is_secret: true, is_set: true, source: 'variable' });
  t.match(find('QUARRY_MAIL_URL'), { value: null, is_secret: true, is_set: false, source: 'default' });
  t.equal(find('QUARRY_URL'), undefined, 'settings of commands are not shown');
  t.notMatch(JSON.stringify(settings), adminKey.slice(0, 4));
});

t.test('the list of organizations contains their storage on request', async (t) => {
  const plain = await administrator.call('admin/list-organizations');
  t.notOk('storage' in plain.organizations[0]!);
  const { organizations } = await administrator.call('admin/list-organizations', { include_storage: true });
  t.match(organizations, [{ storage: { documents: 2, ingest_documents: 0 } }]);
  t.ok((organizations[0]?.storage?.bytes ?? 0) > 20);
});

t.test('/readyz, /metrics and the log report the isolation level and the reason', async (t) => {
  const { components } = (await (await fetch(`${server.url}/readyz`)).json()) as {
    components: Record<string, { ready: boolean; detail: string }>;
  };
  t.same(components.isolation, { ready: true, detail: 'off (QUARRY_TOOLS_ISOLATION)' });
  t.match(await (await fetch(`${server.url}/metrics`)).text(), /quarry_tools_isolation\{level="none"\} 1/);
  t.match(server.fullLog, /isolation of tools and parsers/);
});

t.test('a stopping server prints how many requests it waits for, and answers them', async (t) => {
  const authorization = `Bearer ${operatorKey}`;
  const upload = request(`${server.url}/v1/documents/secret/last.txt`, {
    method: 'PUT',
    headers: { authorization, 'content-length': 5, expect: '100-continue' },
  });
  // An uncaught error would hide the assertion that failed.
  upload.on('error', (error) => t.comment(String(error)));
  upload.flushHeaders();
  await once(upload, 'continue');
  const stopped = server.stop();
  const line = 'Stopping: waiting for 1 running request, at most 30 s (Ctrl-C again stops at once)\n';
  await waitUntil('the line', () => server.standardOutput.endsWith(line));
  upload.end('12345');
  const [response] = await once(upload, 'response');
  t.equal(response.statusCode, 201);
  t.equal(await stopped, 0);
  t.match(server.standardOutput, /\nStopped\n$/);
});
