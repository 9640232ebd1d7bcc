import { sleep, waitUntil } from './raw-client.ts';
import { serverContract } from './server-contract.ts';

/** Contract of both HTTP servers: replies of unknown length. */

const head = {
  authorization: 'Bearer all',
  accept: 'text/event-stream',
};

serverContract('an event stream arrives piece by piece and ends', async ({ t, open }) => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const server = await open({
    services: {
      streamChanges: async () => ({
        events: (async function* () {
          yield Buffer.from('data: one\n\n');
          await released;
          yield Buffer.from('data: two\n\n');
        })(),
        close: () => {},
      }),
    },
  });
  const response = await fetch(`${server.url}/v1/changes`, { headers: head });
  t.equal(response.headers.get('content-type'), 'text/event-stream');
  t.equal(response.headers.get('content-length'), null);
  const reader = response.body!.getReader();
  t.equal(Buffer.from((await reader.read()).value!).toString(), 'data: one\n\n');
  release();
  t.equal(Buffer.from((await reader.read()).value!).toString(), 'data: two\n\n');
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
              yield Buffer.from(': heartbeat\n\n');
              await sleep(5);
            }
          } finally {
            returned = true;
          }
        })(),
        close: () => {
          closed += 1;
        },
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
