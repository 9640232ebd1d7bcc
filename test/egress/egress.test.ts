import { once } from 'node:events';
import { createServer, get, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Egress, EgressDeniedError, findEgressDenial } from '../../src/egress/egress.ts';
import { guardSockets } from '../../src/egress/guard-sockets.ts';
import t, { type Test } from '../support/tap.ts';

/** Server in this process that counts its requests. */
async function startServer(t: Test, listener: RequestListener = (_, reply) => void reply.end('answer')) {
  let requestCount = 0;
  let connected = 0;
  const server = createServer((request, reply) => {
    requestCount += 1;
    listener(request, reply);
  }).listen(0, '127.0.0.1');
  server.on('connection', () => {
    connected += 1;
  });
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}`, asked: () => requestCount, connected: () => connected };
}

const allowing = (...ports: number[]) =>
  new Egress({
    mode: 'configured',
    hosts: ports.map((port) => ({ host: '127.0.0.1', port, purpose: 'tests' })),
  });

t.test(
  'a host that is not in the settings is blocked before any data is sent, by fetch, agents and sockets',
  async (t) => {
    const [listedServer, unlistedServer] = [await startServer(t), await startServer(t)];
    const egress = allowing(listedServer.port);
    const { httpAgent, httpsAgent } = egress.agents();
    t.equal(await (await egress.fetch(listedServer.url)).text(), 'answer');
    const [reply] = await once(get(listedServer.url, { agent: httpAgent }), 'response');
    t.equal(reply.statusCode, 200);
    (await egress.openSocket({ host: '127.0.0.1', port: listedServer.port, msMax: 60_000 })).destroy();
    const refused = {
      name: 'EgressDeniedError',
      message: /127\.0\.0\.1:\d+ was blocked: the host is not in the settings/,
    };
    await t.rejects(egress.fetch(unlistedServer.url), refused);
    await t.rejects(egress.fetch('https://name-that-is-never-looked-up.example'), EgressDeniedError);
    await t.rejects(
      egress.openSocket({ host: '127.0.0.1', port: unlistedServer.port, msMax: 60_000 }),
      refused,
    );
    await t.rejects(once(get(unlistedServer.url, { agent: httpAgent }), 'response'), refused);
    await t.rejects(once(get('https://127.0.0.1:1', { agent: httpsAgent }), 'response'), refused);
    t.equal(unlistedServer.connected(), 0);
    httpAgent.destroy();
  },
);

t.test('a redirect is returned and not followed', async (t) => {
  const unlistedServer = await startServer(t);
  const listedServer = await startServer(
    t,
    (_, reply) => void reply.writeHead(307, { location: unlistedServer.url }).end(),
  );
  const reply = await allowing(listedServer.port).fetch(listedServer.url, {
    method: 'POST',
    redirect: 'follow',
  });
  t.equal(reply.status, 307);
  t.equal(unlistedServer.connected(), 0);
});

t.test('with the mode none no host is allowed, and the error names the setting', async (t) => {
  const listedServer = await startServer(t);
  const { hosts } = allowing(listedServer.port);
  const egress = new Egress({ mode: 'none', hosts });
  await t.rejects(egress.fetch(listedServer.url), { message: /QUARRY_EGRESS is "none"/ });
  t.equal(listedServer.connected(), 0);
});

t.test('a denied connection is found in the errors that libraries wrap around it', async (t) => {
  const denial = new EgressDeniedError('none', 'example.com', 443);
  t.equal(
    findEgressDenial(new TypeError('fetch failed', { cause: new Error('x', { cause: denial }) })),
    denial,
  );
  t.equal(findEgressDenial(Object.assign(new Error('of Stripe'), { detail: denial })), denial);
  t.equal(findEgressDenial(new Error('something else')), null);
  const endless = new Error('circular');
  endless.cause = endless;
  t.equal(findEgressDenial(endless), null);
});

t.test('names are compared without case and brackets; a host without a port has all of them', async (t) => {
  const egress = new Egress({
    mode: 'configured',
    hosts: [
      { host: 'example.com', port: null, purpose: 'tests' },
      { host: '::1', port: 80, purpose: 'tests' },
    ],
  });
  t.ok(egress.allows('EXAMPLE.com', 8_443));
  t.ok(egress.allows('[::1]', 80));
  t.notOk(egress.allows('::1', 81));
  t.notOk(egress.allows('sub.example.com', 443));
  t.notOk(egress.allows('example.com.evil.example', 443));
});

t.test('a restricted thread opens no other connection, regardless of the library', async (t) => {
  const [listedServer, unlistedServer] = [await startServer(t), await startServer(t)];
  // Affects the rest of this process, so this test must be the last one.
  guardSockets(allowing(listedServer.port));
  t.equal(await (await fetch(listedServer.url)).text(), 'answer');
  const clients = {
    fetch: () => fetch(unlistedServer.url),
    http: () => once(get(unlistedServer.url), 'response'),
    'net with a port': () => once(connect(unlistedServer.port, '127.0.0.1'), 'connect'),
    'net with options': () => once(connect({ host: '127.0.0.1', port: unlistedServer.port }), 'connect'),
    tls: () => once(connectTls({ host: '127.0.0.1', port: unlistedServer.port }), 'secureConnect'),
    'a name': () => once(connect(443, 'name-that-is-never-looked-up.example'), 'connect'),
  };
  for (const [name, connectTo] of Object.entries(clients)) {
    const error = await connectTo().catch((reason: unknown) => reason);
    t.ok(findEgressDenial(error) !== null, `${name}: ${error}`);
  }
  t.equal(unlistedServer.connected(), 0);
});
