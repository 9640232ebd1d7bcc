import { randomUUID } from 'node:crypto';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { Sealer } from '../../src/core/sealer.ts';
import { webhookLimits } from '../../src/core/webhook-limits.ts';
import { PinnedConnections } from '../../src/egress/pinned-connections.ts';
import { ChangeFeeds } from '../../src/storage/change-feeds.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { Webhooks } from '../../src/storage/webhooks.ts';
import { WebhookServices } from '../../src/webhooks/webhook-services.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import t from '../support/tap.ts';
import { cancellation } from './webhook-fixture.ts';

const url = 'https://example.com/hook?token=private';

function open() {
  const store = new MemoryStore();
  const clock = new FakeClock();
  const feeds = new ChangeFeeds(store, systemRandom);
  const webhooks = new Webhooks(store);
  const sealer = new Sealer([systemRandom.bytes(32)], systemRandom);
  const auditLog = new AuditLog({ store, clock, random: systemRandom });
  const entries: Parameters<AuditLog['entryOperation']>[0][] = [];
  const connections = new PinnedConnections({
    mode: 'configured',
    hosts: ['example.com'],
    privateHosts: ['inside:8080'],
    settingNames: { hosts: 'QUARRY_WEBHOOK_HOSTS', privateHosts: 'QUARRY_WEBHOOK_PRIVATE_HOSTS' },
  });
  const services = new WebhookServices({
    store,
    webhooks,
    feeds,
    dispatcher: { reconfigure: (_organizationId, _webhookId, change) => change(), deleteAll: async () => {} },
    sender: { send: async () => ({ failure: null, status: 200, error: null, milliseconds: 1 }) },
    connections,
    audit: {
      entryOperation: (entry) => {
        entries.push(entry);
        return auditLog.entryOperation(entry);
      },
    },
    sealer,
    clock,
    random: systemRandom,
  });
  const callOf = (organizationId: string) =>
    ({
      principal: { kind: 'organization', organizationId, keyId: 'k', permission: 'all', zdr: false },
      cancellation,
      address: () => '192.0.2.1',
    }) as const;
  return { services, webhooks, feeds, store, clock, sealer, entries, call: callOf(randomUUID()), callOf };
}

t.test('only allowed URLs are accepted, also in a change', async (t) => {
  const { services, call } = open();
  const rejected = [
    ['http://example.com/', { code: 'bad_request', message: /https/ }],
    ['https://other.example.com/', { code: 'forbidden', message: /QUARRY_WEBHOOK_HOSTS/ }],
    ['https://user:word@example.com/', { code: 'bad_request' }],
    ['https://example.com/#part', { code: 'bad_request', message: /fragment/ }],
    ['ftp://example.com/', { code: 'bad_request' }],
    ['example.com', { code: 'bad_request' }],
  ] as const;
  const { webhook_id } = await services.addWebhook(call, { url });
  for (const [text, error] of rejected) {
    await t.rejects(services.addWebhook(call, { url: text }), error, text);
    await t.rejects(services.updateWebhook(call, { webhook_id, url: text }), error, text);
  }
  await services.addWebhook(call, { url: 'http://inside:8080/' });
  const { webhooks } = await services.listWebhooks(call);
  t.same(webhooks.map((webhook) => webhook.url).sort(), ['http://inside:8080/', url]);
});

t.test('a new secret replaces the previous one after a day', async (t) => {
  const { services, webhooks, call, clock, sealer } = open();
  const { webhook_id, secret } = await services.addWebhook(call, { url });
  const secretsOf = () => webhooks.find(call.principal.organizationId, webhook_id)!.secrets;
  const opened = () => secretsOf().map(({ sealed }) => sealer.open(sealed, webhook_id));
  t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  t.same(opened(), [secret]);
  const second = await services.rotateSecret(call, { webhook_id });
  t.not(second.secret, secret);
  t.same(opened(), [second.secret, secret]);
  t.same(
    secretsOf().map(({ expiresAt }) => expiresAt),
    [null, clock.now() + webhookLimits.secretOverlapMs],
  );
  const third = await services.rotateSecret(call, { webhook_id });
  t.same(opened(), [third.secret, second.secret], 'only one previous secret');
});

t.test('each change has an entry in the audit log, without the URL', async (t) => {
  const { services, call, entries, feeds, store } = open();
  const { webhook_id } = await services.addWebhook(call, { url });
  const { organizationId } = call.principal;
  await store.write([
    feeds.append(organizationId, () => ({
      type: 'collection.created',
      at: 0,
      collectionId: randomUUID(),
      collection: 'a',
    })),
  ]);
  await services.updateWebhook(call, { webhook_id, status: 'paused' });
  await services.rotateSecret(call, { webhook_id });
  await services.replayWebhook(call, { webhook_id, sequence: 1 });
  await services.deleteWebhook(call, { webhook_id });
  t.same(
    entries.map(({ action }) => action),
    ['added', 'updated', 'secret_rotated', 'replayed', 'deleted'].map((name) => `webhook.${name}`),
  );
  for (const entry of entries)
    t.match(entry, { organizationId, actor: 'key:k', address: '192.0.2.1', target: webhook_id });
  t.notMatch(JSON.stringify(entries), /private|whsec_/);
  t.same(await services.listWebhooks(call), { webhooks: [] });
});

t.test('webhooks of other organizations do not exist, and each organization has its own limit', async (t) => {
  const { services, call, callOf } = open();
  const { webhook_id } = await services.addWebhook(call, { url });
  const other = callOf(randomUUID());
  const notFound = { code: 'not_found' };
  await t.rejects(services.updateWebhook(other, { webhook_id, status: 'paused' }), notFound);
  await t.rejects(services.rotateSecret(other, { webhook_id }), notFound);
  await t.rejects(services.testWebhook(other, { webhook_id }), notFound);
  await t.rejects(services.listDeliveries(other, { webhook_id }), notFound);
  await t.rejects(services.replayWebhook(other, { webhook_id, sequence: 1 }), notFound);
  await t.rejects(services.deleteWebhook(other, { webhook_id }), notFound);
  t.same(await services.listWebhooks(other), { webhooks: [] });
  for (let i = 1; i < webhookLimits.perOrganizationMax; i += 1) await services.addWebhook(call, { url });
  await t.rejects(services.addWebhook(call, { url }), { code: 'rate_limited', message: /at most 16/ });
  t.ok(await services.addWebhook(other, { url }));
});

t.test('only changes that are kept can be replayed', async (t) => {
  const { services, call } = open();
  const { webhook_id } = await services.addWebhook(call, { url });
  for (const sequence of [-1, 0, 1, Number.MAX_SAFE_INTEGER])
    await t.rejects(services.replayWebhook(call, { webhook_id, sequence }), { code: 'gone' });
});
