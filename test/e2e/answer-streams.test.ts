import { FakeChatService } from '../support/fake-chat-service.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { EventStreamClient } from './event-stream.ts';
import { adminKey, TestServer } from './server.ts';
import { createTenant, type Tenant } from './tenant.ts';

/** Answers as server-sent events, on both HTTP servers. */

t.setTimeout(testFileMsMax);

const request = { collection_name: 'handbook', question: 'How long do refunds take?' };

/** A server with one permit for answers, its chat service, and a collection. */
interface StreamFixture extends Tenant {
  readonly server: TestServer;
  readonly service: FakeChatService;
  readonly stream: (more?: object, key?: string) => Promise<EventStreamClient>;
  /** Sends a request that `abort` ends. */
  readonly send: (body: object) => { readonly abort: () => Promise<void> };
  readonly readMetric: (name: string) => Promise<number>;
}

async function openFixture(t: Test, HTTP: string): Promise<StreamFixture> {
  const service = await FakeChatService.start(t);
  const server = await TestServer.start(t, { ...service.variables, HTTP, CHAT_REQUESTS_MAX: '1' });
  const tenant = await createTenant(server);
  await tenant.api.call('collections/add-collection', { collection_name: 'handbook' });
  await tenant.api.add('handbook', 'refunds.txt', 'Refunds are paid within 14 days.');
  return {
    ...tenant,
    server,
    service,
    stream: (more = {}, key = tenant.key) =>
      EventStreamClient.post(server, key, { path: 'answers', body: { ...request, stream: true, ...more } }),
    send: (body) => {
      const controller = new AbortController();
      const reply = tenant.api.send('answers', {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: controller.signal,
      });
      const ended = reply.then(
        () => undefined,
        () => undefined,
      );
      return {
        abort: () => {
          controller.abort();
          return ended;
        },
      };
    },
    readMetric: async (name) => {
      const text = await (await fetch(`${server.url}/metrics`)).text();
      const line = text.split('\n').find((each) => each.startsWith(`${name} `));
      return Number(line?.slice(name.length + 1));
    },
  };
}

const types = ({ events }: EventStreamClient) => events.map(({ type }) => type);

function untilEnd(client: EventStreamClient): Promise<void> {
  return waitUntil('the end of the stream', () => client.hasEnded && client.events.length > 0);
}

type Scenario = (t: Test, fixture: StreamFixture) => Promise<void>;

const scenarios: Readonly<Record<string, Scenario>> = {
  'each sentence arrives when it is complete, and the whole at the end': async (
    t,
    { service, api, stream },
  ) => {
    service.behavior = 'stall';
    const client = await stream();
    await client.waitForEvents(1);
    t.match(client.events, [
      { type: 'sentence', data: { text: 'It takes 14 days.', citations: [{ path: 'refunds.txt' }] } },
    ]);
    const heartbeats = client.heartbeats;
    await waitUntil(
      'the connection outlives 10 s without an event',
      () => client.heartbeats > heartbeats + 2,
    );
    service.release();
    await untilEnd(client);
    t.same(types(client), ['sentence', 'sentence', 'answer']);
    service.behavior = 'well';
    const whole = await api.call('answers', request);
    t.same(client.events.at(-1)?.data, whole);
    t.same(
      client.events.slice(0, 2).map(({ data }) => data),
      whole.sentences,
    );
    t.match(whole, { answer: 'It takes 14 days. Refunds are paid by the office.', num_uncited_sentences: 1 });
  },

  'without snippets or support, the only event is the reply': async (t, { service, stream }) => {
    const calls = service.requests.length;
    const empty = await stream({ filter: { team: 'none' } });
    await untilEnd(empty);
    t.match(empty.events, [{ type: 'answer', data: { answer: null, reason: 'no_snippets' } }]);
    t.equal(service.requests.length, calls);
    service.write = () => 'NO_ANSWER';
    const declined = await stream();
    await untilEnd(declined);
    t.match(declined.events, [{ type: 'answer', data: { answer: null, reason: 'no_answer' } }]);
  },

  'errors before the model are replies, and errors of the model are events': async (
    t,
    { service, api, stream },
  ) => {
    await t.rejects(stream({ collection_name: 'missing' }), /^404/);
    await t.rejects(stream({ k: 99 }), /^400/);
    for (const [behavior, before, status, detail] of [
      ['unfinished', 1, 502, /ended before/],
      ['malformed', 1, 502, /not JSON/],
      ['rejected', 0, 502, /rejected the request/],
      ['error', 0, 503, /HTTP status 500/],
    ] as const) {
      service.behavior = behavior;
      const client = await stream();
      await untilEnd(client);
      t.equal(types(client).filter((type) => type === 'sentence').length, before, behavior);
      t.match(client.events.at(-1), { type: 'error', data: { status, detail } }, behavior);
      service.behavior = 'well';
      await waitUntil(
        'the service is used again',
        async () => (await api.status('answers', request)) === 200,
      );
    }
  },

  'a client that disconnects aborts the request to the model': async (
    t,
    { service, api, send, stream, readMetric },
  ) => {
    service.behavior = 'stall';
    const aborted = service.abortedRequests;
    const client = await stream();
    await client.waitForEvents(1);
    client.close();
    await waitUntil('the streamed request is aborted', () => service.abortedRequests === aborted + 1);
    const plain = send(request);
    await waitUntil('the model writes', () => service.runningRequests === 1);
    await plain.abort();
    await waitUntil('the request is aborted', () => service.abortedRequests === aborted + 2);
    service.behavior = 'well';
    t.equal(await api.status('answers', request), 200, 'the only permit is free');
    t.equal(await readMetric('quarry_answers_total{outcome="canceled"}'), 2);
    t.equal(await readMetric('quarry_answers_running'), 0);
  },

  'a stream that waits for the model can be left': async (t, { service, send, stream, readMetric }) => {
    service.behavior = 'stall';
    const running = await stream();
    await running.waitForEvents(1);
    const waiting = send({ ...request, stream: true });
    const countWaiting = () => readMetric('quarry_answers_waiting');
    await waitUntil('one waits', async () => (await countWaiting()) === 1);
    await waiting.abort();
    await waitUntil('none waits', async () => (await countWaiting()) === 0);
    service.release();
    await untilEnd(running);
    t.equal(types(running).at(-1), 'answer');
  },

  'a deleted key ends its stream': async (t, { server, service, organization_id, stream }) => {
    const administration = new CheckedApiClient(server, adminKey);
    const keyFields = { organization_id, name: 'short', permission: 'read_only' };
    const { api_key: short } = await administration.call('admin/add-api-key', keyFields);
    service.behavior = 'stall';
    const client = await stream({}, short);
    await client.waitForEvents(1);
    const { api_keys } = await administration.call('admin/list-api-keys', { organization_id });
    const api_key_id = api_keys.find(({ name }) => name === 'short')?.id;
    await administration.call('admin/delete-api-key', { organization_id, api_key_id });
    service.release();
    await untilEnd(client);
    t.match(client.events.at(-1), { type: 'error', data: { status: 401, detail: /deleted or changed/ } });
    t.same(types(client), ['sentence', 'error']);
  },

  'a server that stops finishes the answers that are being written': async (
    t,
    { server, service, key, stream },
  ) => {
    service.behavior = 'stall';
    const client = await stream();
    await client.waitForEvents(1);
    const stopped = server.stop();
    await waitUntil('the server stops', async () => {
      const reply = await fetch(`${server.url}/v1/status/get-status`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: '{}',
      }).catch(() => null);
      return reply === null || reply.status === 503;
    });
    service.release();
    await untilEnd(client);
    t.equal(types(client).at(-1), 'answer');
    t.equal(await stopped, 0);
  },
};

for (const http of ['uws', 'node']) {
  await t.test(`streamed answers with QUARRY_HTTP=${http}`, async (t) => {
    const fixture = await openFixture(t, http);
    for (const [title, run] of Object.entries(scenarios)) {
      fixture.service.behavior = 'well';
      fixture.service.write = () =>
        'It takes 14 days [1]. It takes a year. Refunds are paid [1] by the office.';
      await t.test(title, (t) => run(t, fixture));
    }
  });
}
