import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createOrganizationSemaphore } from '../../src/admission/organization-semaphore.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { Sealer } from '../../src/core/sealer.ts';
import { webhookLimits } from '../../src/core/webhook-limits.ts';
import { PinnedConnections } from '../../src/egress/pinned-connections.ts';
import type { Webhook, WebhookSecret } from '../../src/storage/webhooks.ts';
import { DeliverySender } from '../../src/webhooks/delivery-sender.ts';
import { formatSecret } from '../../src/webhooks/signature.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import t, { type Test } from '../support/tap.ts';
import { cancellation, webhookTo } from './webhook-fixture.ts';

const message = {
  id: 'chg_1',
  type: 'document.added',
  timestamp: '2026-01-01T00:00:00.000Z',
  data: { a: 1 },
};
const sealer = new Sealer([systemRandom.bytes(32)], systemRandom);

function createSecret(webhookId: string, expiresAt: number | null = null) {
  const secret = formatSecret(systemRandom.bytes(32));
  const sealed: WebhookSecret = { sealed: sealer.seal(secret, webhookId), expiresAt };
  return { secret, sealed };
}

async function startReceiver(t: Test, status: number, headers: Readonly<Record<string, string>> = {}) {
  const received: { readonly headers: IncomingHttpHeaders; readonly body: string; readonly url: string }[] =
    [];
  const receiver = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      received.push({ headers: request.headers, body, url: request.url ?? '' });
      response.writeHead(status, headers).end('x'.repeat(100_000));
    });
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  t.teardown(() => receiver.close());
  return { received, port: (receiver.address() as AddressInfo).port };
}

function createSender(
  t: Test,
  allowed: { hosts?: string[]; privateHosts?: string[] },
  clock = new FakeClock(),
) {
  const settingNames = { hosts: 'QUARRY_WEBHOOK_HOSTS', privateHosts: 'QUARRY_WEBHOOK_PRIVATE_HOSTS' };
  const { hosts = [], privateHosts = [] } = allowed;
  const connections = new PinnedConnections({ mode: 'configured', hosts, privateHosts, settingNames });
  t.teardown(() => connections.close());
  const semaphore = createOrganizationSemaphore({ permits: 1, waitingMax: 1, noun: 'webhook messages' });
  return new DeliverySender({ connections, sealer, clock, semaphore, version: '1' });
}

t.test('private addresses and redirects are rejected', async (t) => {
  const target = await startReceiver(t, 200);
  const { port, received } = await startReceiver(t, 302, { location: `http://127.0.0.1:${target.port}/` });
  const send = (sender: DeliverySender, url: string) => {
    const webhook = webhookTo(url);
    const secrets = [createSecret(webhook.webhookId).sealed];
    return sender.send({ ...webhook, secrets }, message, cancellation);
  };
  for (const host of ['127.0.0.1', 'localhost'])
    t.match(await send(createSender(t, { hosts: [`${host}:${port}`] }), `http://${host}:${port}/`), {
      failure: 'denied',
      status: null,
      error: /private address.*QUARRY_WEBHOOK_PRIVATE_HOSTS/,
    });
  t.match(await send(createSender(t, { hosts: ['*'] }), `http://127.0.0.1:${port}/`), {
    failure: 'denied',
    error: /QUARRY_WEBHOOK_HOSTS/,
  });
  t.equal(received.length, 0, 'nothing was sent');
  const sender = createSender(t, { privateHosts: ['127.0.0.1'] });
  t.match(await send(sender, `http://127.0.0.1:${port}/`), {
    failure: 'status',
    status: 302,
    error: /Redirects are not followed/,
  });
  t.equal(received.length, 1);
  t.equal(target.received.length, 0, 'the redirect was not followed');
});

t.test(
  'a message is signed with the current secret, and with the previous one until it expires',
  async (t) => {
    const clock = new FakeClock();
    const { port, received } = await startReceiver(t, 204);
    const sender = createSender(t, { privateHosts: ['127.0.0.1'] }, clock);
    const base = webhookTo(`http://127.0.0.1:${port}/hook?a=b`);
    const current = createSecret(base.webhookId);
    const previous = createSecret(base.webhookId, clock.now() + webhookLimits.secretOverlapMs);
    const webhook: Webhook = { ...base, secrets: [current.sealed, previous.sealed] };
    const signaturesOf = (secrets: readonly string[]) => {
      const { headers, body } = received.at(-1)!;
      return secrets
        .map((secret) => {
          const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
          const content = `${message.id}.${headers['webhook-timestamp']}.${body}`;
          return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
        })
        .join(' ');
    };
    t.match(await sender.send(webhook, message, cancellation), { failure: null, status: 204, error: null });
    const { headers, url, body } = received[0]!;
    t.equal(url, '/hook?a=b');
    t.equal(headers['webhook-id'], message.id);
    t.equal(headers['webhook-timestamp'], String(clock.now() / 1_000));
    t.same(JSON.parse(body), { type: message.type, timestamp: message.timestamp, data: message.data });
    t.equal(headers['webhook-signature'], signaturesOf([current.secret, previous.secret]));
    await clock.advance(webhookLimits.secretOverlapMs);
    await sender.send(webhook, message, cancellation);
    t.equal(received[1]!.headers['webhook-signature'], signaturesOf([current.secret]));
  },
);

t.test('a failed connection and an unreadable secret are outcomes', async (t) => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  const sender = createSender(t, { privateHosts: ['127.0.0.1'] });
  const webhook = webhookTo(`http://127.0.0.1:${port}/`);
  const { sealed } = createSecret(webhook.webhookId);
  t.match(await sender.send({ ...webhook, secrets: [sealed] }, message, cancellation), {
    failure: 'connection',
    status: null,
    error: /ECONNREFUSED/,
  });
  const other = createSecret('another webhook').sealed;
  t.match(await sender.send({ ...webhook, secrets: [other] }, message, cancellation), { failure: 'secret' });
});
