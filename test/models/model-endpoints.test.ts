import { systemClock } from '../../src/core/clock.ts';
import { silentLogger } from '../../src/core/logger.ts';
import {
  ModelProvider,
  type ModelProviderOptions,
  type RequestOutcome,
} from '../../src/models/model-provider.ts';
import { localEgress } from '../local-egress.ts';
import t, { type Test } from '../support/tap.ts';
import { testEventMsMax } from '../timeouts.ts';
import { FakeModelService } from './fake-model-service.ts';

/** Several endpoints of one service: failover, health and hedging. */

interface Fixture {
  readonly services: readonly FakeModelService[];
  readonly provider: ModelProvider;
  readonly outcomes: RequestOutcome[];
  readonly recoveries: string[];
  readonly query: () => Promise<unknown>;
  readonly embed: () => Promise<unknown>;
  /** Number of requests that each endpoint has received. */
  readonly counts: () => number[];
}

async function createFixture(t: Test, options: Partial<ModelProviderOptions> = {}): Promise<Fixture> {
  const services = [await FakeModelService.start(t), await FakeModelService.start(t)];
  const outcomes: RequestOutcome[] = [];
  const recoveries: string[] = [];
  const provider = new ModelProvider({
    model: 'theirs',
    urls: services.map(({ url }) => `${url}/embeddings`),
    key: null,
    documentMsMax: testEventMsMax,
    queryMsMax: testEventMsMax,
    hedgeMs: 0,
    requestsMax: 4,
    fetch: localEgress.fetch,
    clock: systemClock,
    random: () => 0.1,
    mayLogReply: () => true,
    onRecovered: () => void recoveries.push('recovered'),
    logger: silentLogger,
    observe: (outcome) => void outcomes.push(outcome),
    ...options,
  });
  const send = (deadline: number | null) => provider.request({ input: ['gull'] }, deadline, (reply) => reply);
  return {
    services,
    provider,
    outcomes,
    recoveries,
    query: () => send(provider.getQueryDeadline()),
    embed: () => send(null),
    counts: () => services.map(({ requests }) => requests.length),
  };
}

const modelUnavailable = { code: 'unavailable', model: 'theirs' };

t.test('requests are spread over the endpoints', async (t) => {
  const { embed, query, counts } = await createFixture(t, { hedgeMs: testEventMsMax });
  for (let i = 0; i < 4; i += 1) await embed();
  for (let i = 0; i < 4; i += 1) await query();
  t.same(counts(), [4, 4]);
});

t.test('the endpoint with fewer requests in flight is preferred', async (t) => {
  const { services, embed, counts } = await createFixture(t);
  services[0]!.setBehavior('slow');
  const first = embed();
  while (services[0]!.requests.length + services[1]!.requests.length === 0)
    await new Promise((resolve) => setImmediate(resolve));
  t.same(counts(), [1, 0]);
  for (let i = 0; i < 3; i += 1) await embed();
  await first;
  t.equal(counts()[0], 1, 'no other request waits behind the slow one');
});

for (const behavior of ['error', 'closed', 'unauthorized', 'busy'] as const)
  t.test(`another endpoint answers while one fails: ${behavior}`, async (t) => {
    const { services, query, embed, provider, outcomes } = await createFixture(t);
    services[0]!.retryAfter = '60';
    services[0]!.setBehavior(behavior);
    for (let i = 0; i < 20; i += 1) await (i % 2 === 0 ? query() : embed());
    t.equal(outcomes.filter((outcome) => outcome === 'answered').length, 20, 'no caller sees the failure');
    t.ok(services[0]!.requests.length <= 6, 'a failing endpoint soon gets no requests');
    const { state, lastError, endpoints } = provider.health;
    t.same([state, lastError], ['closed', null], 'the service is available');
    t.equal(endpoints[1]!.lastError, null);
    t.type(endpoints[0]!.lastError, 'string');
    provider.checkAvailable();
  });

t.test('a service is unavailable when all endpoints fail, and recovers once', async (t) => {
  let now = 0;
  const clock = { ...systemClock, monotonic: () => now };
  const { services, query, provider, recoveries, counts } = await createFixture(t, { clock });
  for (const service of services) service.setBehavior('error');
  for (let i = 0; i < 6; i += 1) await t.rejects(query(), modelUnavailable);
  t.match(provider.health, { state: 'open', lastError: 'HTTP status 500' });
  t.throws(() => provider.checkAvailable(), modelUnavailable);
  const before = counts();
  await t.rejects(query(), modelUnavailable);
  t.same(counts(), before, 'nothing is sent while all breakers are open');
  now += 60_000;
  services[1]!.setBehavior('well');
  await query();
  await query();
  t.same(recoveries, ['recovered']);
  t.match(provider.health, { state: 'closed', lastError: null });
  services[0]!.setBehavior('well');
  now += 60_000;
  for (let i = 0; i < 4; i += 1) await query();
  t.equal(
    provider.health.endpoints[0]!.state,
    'closed',
    'a request of the breaker probes the other endpoint',
  );
});

t.test('an endpoint that asked for a pause gets no request because another one fails', async (t) => {
  const clock = { ...systemClock, monotonic: () => 0 };
  const { services, query, counts } = await createFixture(t, { clock, queryMsMax: 1_000 });
  services[0]!.retryAfter = '30';
  services[0]!.setBehavior('busy');
  services[1]!.setBehavior('unauthorized');
  await t.rejects(query(), modelUnavailable);
  t.same(counts(), [1, 1]);
  for (let i = 0; i < 4; i += 1) await t.rejects(query(), modelUnavailable);
  t.same(counts(), [1, 1]);
});

t.test('a query without a reply is sent to a second endpoint, whose reply counts', async (t) => {
  const { services, query, outcomes, provider, counts } = await createFixture(t, { hedgeMs: 1 });
  services[0]!.setBehavior('hang');
  for (let i = 0; i < 4; i += 1) await query();
  t.equal(counts()[1], 4);
  t.ok(counts()[0]! >= 1 && counts()[0]! <= 4);
  t.same(outcomes.filter((outcome) => outcome === 'answered').length, 4);
  t.ok(outcomes.includes('superseded'));
  t.equal(provider.health.endpoints[0]!.lastError, null, 'a superseded request is no failure');
});

t.test('documents, and queries without hedging, wait for their endpoint', async (t) => {
  for (const [hedgeMs, kind] of [
    [1, 'embed'],
    [0, 'query'],
  ] as const) {
    const fixture = await createFixture(t, { hedgeMs });
    for (const service of fixture.services) service.setBehavior('slow');
    await fixture[kind]();
    t.equal(fixture.counts()[0]! + fixture.counts()[1]!, 1, kind);
  }
});

t.test('the error of a hedged query is that of its endpoints', async (t) => {
  const { services, query } = await createFixture(t, { hedgeMs: 1 });
  services[0]!.setBehavior('error');
  services[1]!.setBehavior('error');
  await t.rejects(query(), { code: 'unavailable', message: /HTTP status 500/ });
});
