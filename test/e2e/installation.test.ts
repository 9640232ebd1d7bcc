import t from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { adminKey, operatorKey, TestServer } from './server.ts';

/** Operations about the whole installation. */

t.setTimeout(600_000);

const server = await TestServer.start(t, { LOG_LEVEL: 'debug', SLOW_QUERY_MS: '1' });
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
