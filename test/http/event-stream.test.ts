import type { Change } from '../../src/schemas/changes.ts';
import { uuid } from './fake-services.ts';
import { sleep, waitUntil } from './raw-client.ts';
import { serverContract } from './server-contract.ts';

/** Contract of both HTTP servers: replies of unknown length. */

const head = {
  authorization: 'Bearer all',
  accept: 'text/event-stream',
};

const change: Change = {
  id: 'chg_1',
  type: 'document.indexed',
  occurred_at: '2026-11-21T00:00:00.000Z',
  collection_id: uuid,
  collection_name: 'c',
  path: 'two\nlines',
};

serverContract('an event stream arrives piece by piece and ends', async ({ t, open }) => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const server = await open({
    services: {
      getChanges: async () => ({ changes: [], cursor: 'one', has_more: false }),
      streamChanges: async () => ({
        events: (async function* () {
          yield { id: 'one', type: null };
          await released;
          yield { id: 'two', type: change.type, data: change };
        })(),
        close: () => {},
        isAwaitedAtStop: false,
      }),
    },
  });
  const response = await fetch(`${server.url}/v1/changes`, { headers: head });
  t.equal(response.headers.get('content-type'), 'text/event-stream');
  t.equal(response.headers.get('content-length'), null);
  const reader = response.body!.getReader();
  t.equal(Buffer.from((await reader.read()).value!).toString(), ': heartbeat\nid: one\n\n');
  release();
  t.equal(
    Buffer.from((await reader.read()).value!).toString(),
    `id: two\nevent: document.indexed\ndata: ${JSON.stringify(change)}\n\n`,
  );
  t.equal((await reader.read()).done, true);
  const json = await fetch(`${server.url}/v1/changes`, { headers: { authorization: 'Bearer all' } });
  t.match(await json.json(), { changes: [] });
});

serverContract('the stream of a client that disconnects is closed', async ({ t, open }) => {
  let closed = 0;
  let returned = false;
  const server = await open({
    services: {
      streamChanges: async (call) => ({
        events: (async function* () {
          try {
            while (!call.cancellation.isCanceled) {
              yield { id: 'any', type: null };
              await sleep(5);
            }
          } finally {
            returned = true;
          }
        })(),
        close: () => {
          closed += 1;
        },
        isAwaitedAtStop: false,
      }),
    },
  });
  const abort = new AbortController();
  const response = await fetch(`${server.url}/v1/changes`, { headers: head, signal: abort.signal });
  await response.body!.getReader().read();
  abort.abort();
  await waitUntil(() => returned && closed === 1);
  t.pass('the iterator was returned');
});
