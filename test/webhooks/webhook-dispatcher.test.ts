import { randomUUID } from 'node:crypto';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { webhookLimits } from '../../src/core/webhook-limits.ts';
import { ChangeSignal } from '../../src/services/change-signal.ts';
import { ChangeFeeds } from '../../src/storage/change-feeds.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { type Webhook, Webhooks } from '../../src/storage/webhooks.ts';
import type { EventMessage, SendOutcome } from '../../src/webhooks/delivery-sender.ts';
import { WebhookDispatcher } from '../../src/webhooks/webhook-dispatcher.ts';
import { FakeClock, flushPromises } from '../admission/fake-clock.ts';
import t, { type Test } from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { webhookTo } from './webhook-fixture.ts';

const delivered: SendOutcome = { failure: null, status: 200, error: null, milliseconds: 1 };
const refused = (status: number): SendOutcome => ({
  failure: 'status',
  status,
  error: `The receiver replied with status ${status}.`,
  milliseconds: 1,
});

/** A dispatcher of one organization. Sleeps advance the clock and end at once. */
function createDispatcher(t: Test, reply: (message: EventMessage) => SendOutcome) {
  const store = new MemoryStore();
  const feeds = new ChangeFeeds(store, systemRandom);
  const webhooks = new Webhooks(store);
  const clock = new FakeClock();
  const sent: EventMessage[] = [];
  const sleeps: number[] = [];
  const removed = new Set<string>();
  const dispatcher = new WebhookDispatcher({
    store,
    webhooks,
    feeds,
    signal: new ChangeSignal(feeds),
    collections: { findById: () => undefined },
    sender: {
      send: async (_webhook, message) => {
        sent.push(message);
        return reply(message);
      },
    },
    clock,
    sleep: async (ms) => {
      if (ms <= 0) return;
      sleeps.push(ms);
      await clock.advance(ms);
    },
    random: systemRandom,
    hasOrganization: (id) => !removed.has(id),
    logger: silentLogger,
    count: () => {},
  });
  t.teardown(() => dispatcher.close());
  return { store, feeds, webhooks, clock, sent, sleeps, removed, dispatcher };
}

async function open(t: Test, reply: (message: EventMessage) => SendOutcome = () => delivered) {
  const parts = createDispatcher(t, reply);
  const { store, feeds, webhooks, clock, sent, dispatcher } = parts;
  const webhook = webhookTo('https://example.com/');
  const { organizationId, webhookId } = webhook;
  const add = async (fields: Partial<Webhook> = {}) => {
    const { epoch, last } = await feeds.open(organizationId, clock.now());
    const cursor = { epoch, sequence: last, attempts: 0, failingSince: null, nextAt: 0, deliveries: 0 };
    const added = { ...webhook, ...fields };
    await dispatcher.reconfigure(organizationId, webhookId, () =>
      store.write([webhooks.put(added), webhooks.putCursor(added, cursor)]),
    );
  };
  const append = (path: string, collection = 'a') =>
    store.write([
      feeds.append(organizationId, () => ({
        type: path.startsWith('-') ? 'document.deleted' : 'document.added',
        at: clock.now(),
        collectionId: randomUUID(),
        collection,
        path,
        documentId: randomUUID(),
        metadata: {},
      })),
    ]);
  const current = () => webhooks.find(organizationId, webhookId)!;
  const set = (fields: Partial<Webhook>) =>
    dispatcher.reconfigure(organizationId, webhookId, () =>
      store.write([webhooks.put({ ...current(), ...fields })]),
    );
  const position = () => webhooks.cursorOf(webhook)?.sequence;
  const paths = () => sent.map(({ data }) => (data as { path: string }).path);
  return { ...parts, webhook, organizationId, add, append, current, set, position, paths };
}

t.test('a webhook is disabled after failures for three days, with growing pauses', async (t) => {
  const { add, append, current, clock, sent, sleeps, webhooks, webhook, position } = await open(t, () =>
    refused(500),
  );
  const startedAt = clock.now();
  await add();
  await append('x');
  await waitUntil('the webhook is disabled', () => current().status === 'failed');
  t.match(current().failure, /failed for 3 days.*status 500/);
  const passed = clock.now() - startedAt;
  t.ok(passed >= webhookLimits.failingMsMax, `${passed} ms`);
  t.ok(passed < webhookLimits.failingMsMax + 2 * webhookLimits.retryMsMax, `${passed} ms`);
  t.equal(sent.length, sleeps.length + 1);
  t.equal(new Set(sent.map(({ id }) => id)).size, 1, 'always the same message');
  const { retryMsMin, retryMsMax } = webhookLimits;
  for (const [i, ms] of sleeps.entries()) {
    const expected = Math.min(retryMsMax, retryMsMin * 2 ** i);
    t.ok(ms >= 0.79 * expected && ms <= 1.21 * expected, `pause ${i}: ${ms} ms`);
  }
  t.equal(position(), 0, 'nothing was delivered');
  const deliveries = await webhooks.listDeliveries(webhook);
  t.equal(deliveries.length, webhookLimits.deliveriesKept);
  t.match(deliveries[0], { status: 500, sequence: 1 });
});

t.test('the status 410 disables a webhook at once', async (t) => {
  const { add, append, current, sent } = await open(t, () => refused(410));
  await add();
  await append('x');
  await waitUntil('the webhook is disabled', () => current().status === 'failed');
  t.match(current().failure, /410/);
  t.equal(sent.length, 1);
});

t.test('a message that failed is sent again before the next one', async (t) => {
  let failures = 3;
  const { add, append, paths, position, current } = await open(t, () => {
    failures -= 1;
    return failures >= 0 ? refused(503) : delivered;
  });
  await add();
  await append('x');
  await append('y');
  await waitUntil('both are delivered', () => position() === 2);
  t.same(paths(), ['x', 'x', 'x', 'x', 'y']);
  t.equal(current().status, 'active');
});

t.test('the lag is the time since the change that is being delivered', async (t) => {
  const lags: number[] = [];
  const { add, append, dispatcher, position } = await open(t, () => {
    lags.push(dispatcher.lagMs());
    return lags.length === 3 ? delivered : refused(503);
  });
  await add();
  t.equal(dispatcher.lagMs(), 0);
  await append('x');
  await waitUntil('the delivery', () => position() === 1);
  t.equal(lags[0], 0);
  const { retryMsMin } = webhookLimits;
  t.ok(lags[1]! >= 0.79 * retryMsMin && lags[2]! >= 2 * 0.79 * retryMsMin, lags.join());
  await waitUntil('the lag ends', () => dispatcher.lagMs() === 0);
});

t.test('types and collections restrict the changes', async (t) => {
  const { add, append, paths, position } = await open(t);
  await add({ types: ['document.added'], collections: ['a'] });
  for (const [path, collection] of [
    ['1', 'a'],
    ['2', 'b'],
    ['-3', 'a'],
    ['4', 'a'],
    ['5', 'b'],
  ])
    await append(path!, collection);
  await waitUntil('all changes are processed', () => position() === 5);
  t.same(paths(), ['1', '4']);
});

t.test('a paused webhook continues where it stopped', async (t) => {
  const { add, append, paths, position, set, sent } = await open(t);
  await add();
  await append('1');
  await waitUntil('a delivery', () => position() === 1);
  await set({ status: 'paused' });
  await append('2');
  await append('3');
  t.equal(sent.length, 1, 'nothing is sent meanwhile');
  t.equal(position(), 1);
  await set({ status: 'active' });
  await waitUntil('the rest', () => position() === 3);
  t.same(paths(), ['1', '2', '3']);
});

t.test('the webhooks of a deleted organization stop and are deleted', async (t) => {
  const { add, append, sent, dispatcher, webhooks, webhook, organizationId, removed, position } =
    await open(t);
  await add();
  await append('1');
  await waitUntil('a delivery', () => position() === 1);
  await dispatcher.deleteAll(organizationId);
  t.equal(webhooks.find(organizationId, webhook.webhookId), undefined);
  t.equal(position(), undefined);
  t.same(await webhooks.listDeliveries(webhook), []);
  await append('2');
  removed.add(organizationId);
  await add();
  await append('3');
  for (let i = 0; i < 50; i += 1) await flushPromises();
  await dispatcher.close();
  t.equal(sent.length, 1);
});
