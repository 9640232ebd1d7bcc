import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { PinnedConnections } from '../../src/egress/pinned-connections.ts';
import { ImapConnection } from '../../src/sources/imap/imap-connection.ts';
import { ImapSource } from '../../src/sources/imap/imap-source.ts';
import { ImapOrigin } from '../e2e/imap-origin.ts';
import t, { type Test } from '../support/tap.ts';

function openSource(t: Test, port: number) {
  const connections = new PinnedConnections({
    mode: 'configured',
    hosts: [],
    privateHosts: ['127.0.0.1'],
    settingNames: { hosts: 'QUARRY_SOURCE_HOSTS', privateHosts: 'QUARRY_SOURCE_PRIVATE_HOSTS' },
  });
  t.teardown(() => connections.close());
  const credentials = { username: 'ada', password: 's"écret' };
  const options = { host: '127.0.0.1', port, hasTls: false, credentials, connections };
  const source = new ImapSource({ mailbox: null, connection: new ImapConnection(options) });
  t.teardown(() => source.close());
  return source;
}

t.test('a listing that is canceled while the server is silent rejects immediately', async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const source = openSource(t, (server.address() as AddressInfo).port);
  const controller = new AbortController();
  const listing = source.listChanges(null, controller.signal).next();
  const [socket] = (await once(server, 'connection')) as [Socket];
  socket.on('error', () => {}).resume();
  controller.abort(new Error('stopped'));
  await t.rejects(listing, /stopped/);
  await source.close();
  if (!socket.closed) await once(socket, 'close');
  t.ok(socket.closed, 'the connection is closed');
});

t.test('a connection that is lost is opened again', async (t) => {
  const origin = await ImapOrigin.start();
  t.teardown(() => origin.close());
  origin.append('<1@x>', 'granite');
  origin.append('<2@x>', 'basalt');
  const source = openSource(t, origin.port);
  const { signal } = new AbortController();
  const items = [];
  for await (const change of source.listChanges(null, signal))
    if (change.type === 'item') items.push(change.item);
  t.match(items, [{ key: 'INBOX/1.eml' }, { key: 'INBOX/2.eml' }]);
  origin.disconnect();
  // The loss may be found only with the next command.
  await source.read(items[0]!, signal).catch(() => null);
  const content = await source.read(items[1]!, signal);
  let text = '';
  for await (const part of content!.bytes) text += Buffer.from(part).toString();
  t.equal(text, ImapOrigin.render('<2@x>', 'basalt'));
  t.ok(await source.exists('INBOX/1.eml', signal));
  t.notOk(await source.exists('INBOX/3.eml', signal));
  t.notOk(await source.exists('Other/1.eml', signal));
  t.equal(await source.read({ ...items[0]!, version: '7' }, signal), null, 'the numbers changed');
});
