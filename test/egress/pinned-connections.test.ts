import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { PinnedConnections } from '../../src/egress/pinned-connections.ts';
import { isPrivateAddress } from '../../src/egress/private-addresses.ts';
import { firstCertificate } from '../http/certificate-pairs.ts';
import t from '../support/tap.ts';

const { signal } = new AbortController();
const settingNames = { hosts: 'QUARRY_SOURCE_HOSTS', privateHosts: 'QUARRY_SOURCE_PRIVATE_HOSTS' };

t.test('private and reserved addresses are recognized', async (t) => {
  const privateAddresses = [
    ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '169.254.169.254', '172.31.255.255'],
    ...['192.168.0.1', '224.0.0.1', '255.255.255.255', '::', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1'],
    ...['fe80::1', 'fd00::1', 'ff02::1', '2002:7f00:1::', '2001:0:1::1', '2001:db8::1', 'localhost', ''],
  ];
  for (const address of privateAddresses) t.ok(isPrivateAddress(address), address);
  for (const address of ['1.1.1.1', '172.32.0.1', '192.169.0.1', '2606:4700::1111', '2a00:1450::1'])
    t.notOk(isPrivateAddress(address), address);
});

t.test('a host is allowed by its name, its port or *; a private address only explicitly', async (t) => {
  const server = createServer((_request, response) => response.end('granite'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://localhost:${port}/`);
  const open = (hosts: string[], privateHosts: string[] = [], mode: 'configured' | 'none' = 'configured') =>
    new PinnedConnections({ mode, hosts, privateHosts, settingNames });
  const message = { name: 'AppError', code: 'forbidden' };
  t.throws(() => open([]).checkUrl(url.href), message);
  t.throws(() => open(['*']).checkUrl(url.href), message, 'another port');
  t.throws(() => open(['localhost:1']).checkUrl(url.href), message);
  t.throws(() => open([], ['localhost'], 'none').checkUrl(url.href), message);
  t.throws(() => open(['*']).checkUrl('https://user:password@example.com'), { code: 'bad_request' });
  t.ok(open(['*']).checkUrl('https://example.com/'));
  await t.rejects(open([`localhost:${port}`]).get(url, { signal }), {
    ...message,
    message: /private address/,
  });
  const connections = open([], [`localhost:${port}`]);
  const reply = await connections.get(url, { signal });
  t.equal(reply.statusCode, 200);
  reply.destroy();
  connections.close();
});

t.test('a safe request is repeated when the server closed its idle connection', async (t) => {
  const requests: string[] = [];
  const connectionsUsed = new Set<unknown>();
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += part));
    request.once('end', () => {
      requests.push(`${request.method} ${body}`);
      const isFirst = !connectionsUsed.has(request.socket);
      connectionsUsed.add(request.socket);
      if (isFirst) response.end('granite');
      else request.socket.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const host = `127.0.0.1:${port}`;
  const connections = new PinnedConnections({
    mode: 'configured',
    hosts: [],
    privateHosts: [host],
    settingNames,
  });
  t.teardown(() => connections.close());
  const url = new URL(`http://${host}/`);
  const body = Buffer.from('query');
  for (const method of ['PROPFIND', 'PROPFIND', 'GET']) {
    const reply = await (method === 'GET'
      ? connections.get(url, { signal })
      : connections.requestSafely(url, { method, signal, body }));
    t.equal(reply.statusCode, 200);
    let text = '';
    for await (const part of reply) text += String(part);
    t.equal(text, 'granite');
  }
  const propfind = 'PROPFIND query';
  t.strictSame(requests, [propfind, propfind, propfind, 'GET ', 'GET ']);
});

t.test('a connection of another protocol has the same rules, and its certificate is checked', async (t) => {
  const plain = createTcpServer((socket) => socket.on('error', () => {}).end('hello'));
  const { certificate: cert, key } = firstCertificate;
  const secure = createTlsServer({ cert, key }, (socket) => socket.end('hello')).on(
    'tlsClientError',
    () => {},
  );
  const ports: number[] = [];
  for (const server of [plain, secure]) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => server.close());
    ports.push((server.address() as AddressInfo).port);
  }
  const open = (hosts: string[], privateHosts: string[] = []) =>
    new PinnedConnections({ mode: 'configured', hosts, privateHosts, settingNames });
  const [port = 0, securePort = 0] = ports;
  const host = '127.0.0.1';
  const options = { host, port, defaultPorts: [993], isSecure: false };
  await t.rejects(open([`${host}:${port}`]).openSocket(options), { code: 'forbidden', message: /private/ });
  await t.rejects(open(['*']).openSocket(options), { code: 'forbidden', message: /is not in/ });
  t.throws(() => open(['*']).checkHost('mail.example.com', 993), { code: 'forbidden' });
  open(['*']).checkHost('mail.example.com', 993, [993, 143]);
  const socket = await open([], [host]).openSocket(options);
  let text = '';
  for await (const part of socket) text += String(part);
  t.equal(text, 'hello');
  const message = /The connection to 127.0.0.1:\d+ failed: self-signed certificate/;
  await t.rejects(open([], [host]).openSocket({ ...options, port: securePort, isSecure: true }), {
    code: 'bad_gateway',
    message,
  });
});
