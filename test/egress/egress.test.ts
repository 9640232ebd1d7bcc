import { once } from 'node:events';
import { createServer, get, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import t, { type Test } from 'tap';
import { Egress, EgressRefused, egressRefusalIn } from '../../src/egress/egress.ts';
import { guardSockets } from '../../src/egress/guard-sockets.ts';

/** A server of this process, and how often it was asked. */
async function listening(t: Test, listener: RequestListener = (_, reply) => void reply.end('answer')) {
  let asked = 0;
  let connected = 0;
  const server = createServer((request, reply) => {
    asked += 1;
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
  return { port, url: `http://127.0.0.1:${port}`, asked: () => asked, connected: () => connected };
}

const allowing = (...ports: number[]) =>
  new Egress({
    mode: 'configured',
    hosts: ports.map((port) => ({ host: '127.0.0.1', port, purpose: 'tests' })),
  });

t.test('a host that no setting names is refused before anything is sent, by each way out', async (t) => {
  const [known, stranger] = [await listening(t), await listening(t)];
  const egress = allowing(known.port);
  const { httpAgent, httpsAgent } = egress.agents();
  t.equal(await (await egress.fetch(known.url)).text(), 'answer');
  const [reply] = await once(get(known.url, { agent: httpAgent }), 'response');
  t.equal(reply.statusCode, 200);
  (await egress.openSocket({ host: '127.0.0.1', port: known.port, msMax: 60_000 })).destroy();
  const refused = {
    name: 'EgressRefused',
    message: /127\.0\.0\.1:\d+ was refused: no setting names that host/,
  };
  await t.rejects(egress.fetch(stranger.url), refused);
  await t.rejects(egress.fetch('https://name-that-is-never-looked-up.example'), EgressRefused);
  await t.rejects(egress.openSocket({ host: '127.0.0.1', port: stranger.port, msMax: 60_000 }), refused);
  t.throws(() => get(stranger.url, { agent: httpAgent }), refused);
  t.throws(() => get('https://127.0.0.1:1', { agent: httpsAgent, protocol: 'https:' }), refused);
  t.equal(stranger.connected(), 0);
  httpAgent.destroy();
});

t.test('a redirection is the reply: it leads nowhere', async (t) => {
  const stranger = await listening(t);
  const known = await listening(t, (_, reply) => void reply.writeHead(307, { location: stranger.url }).end());
  const reply = await allowing(known.port).fetch(known.url, { method: 'POST', redirect: 'follow' });
  t.equal(reply.status, 307);
  t.equal(stranger.connected(), 0);
});

t.test('with the mode none nothing is allowed, and the error names the setting', async (t) => {
  const known = await listening(t);
  const { hosts } = allowing(known.port);
  const egress = new Egress({ mode: 'none', hosts });
  await t.rejects(egress.fetch(known.url), { message: /QUARRY_EGRESS is "none"/ });
  t.equal(known.connected(), 0);
});

t.test('a refusal is found inside of what a library makes of it', async (t) => {
  const refusal = new EgressRefused('none', 'example.com', 443);
  t.equal(
    egressRefusalIn(new TypeError('fetch failed', { cause: new Error('x', { cause: refusal }) })),
    refusal,
  );
  t.equal(egressRefusalIn(Object.assign(new Error('of Stripe'), { detail: refusal })), refusal);
  t.equal(egressRefusalIn(new Error('something else')), null);
  const endless = new Error('of itself');
  endless.cause = endless;
  t.equal(egressRefusalIn(endless), null);
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

t.test('a guarded thread opens no other connection, whichever library asks for it', async (t) => {
  const [known, stranger] = [await listening(t), await listening(t)];
  // For the rest of this process: nothing else is tested after it.
  guardSockets(allowing(known.port));
  t.equal(await (await fetch(known.url)).text(), 'answer');
  const ways = {
    fetch: () => fetch(stranger.url),
    http: () => once(get(stranger.url), 'response'),
    'net with a port': () => once(connect(stranger.port, '127.0.0.1'), 'connect'),
    'net with options': () => once(connect({ host: '127.0.0.1', port: stranger.port }), 'connect'),
    tls: () => once(connectTls({ host: '127.0.0.1', port: stranger.port }), 'secureConnect'),
    'a name': () => once(connect(443, 'name-that-is-never-looked-up.example'), 'connect'),
  };
  for (const [name, way] of Object.entries(ways)) {
    const error = await way().catch((reason: unknown) => reason);
    t.ok(egressRefusalIn(error) !== null, `${name}: ${error}`);
  }
  t.equal(stranger.connected(), 0);
});
