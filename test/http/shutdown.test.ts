import { testEventMsMax } from '../timeouts.ts';
import { post } from './fake-services.ts';
import { waitUntil } from './raw-client.ts';
import { createGate, listPath, serverContract } from './server-contract.ts';

/** Contract of both HTTP servers: running and new calls while the server stops. */

/** A list of collections whose call waits until it is released. */
function createPausedList() {
  const { opened, open: release } = createGate();
  let running = false;
  const getCollectionList = async () => {
    running = true;
    await opened;
    return { collection_names: ['kept'] };
  };
  return { services: { getCollectionList }, isRunning: () => running, release };
}

serverContract(
  'draining lets running calls finish, rejects new calls with 503, then stops listening',
  async ({ t, open, connect }) => {
    const list = createPausedList();
    const server = await open({ services: list.services });
    const idle = await connect(server);
    const slow = post(server, listPath);
    await waitUntil(list.isRunning);
    const closed = server.close(testEventMsMax);
    const refused = await post(server, '/v1/collections/delete-collection', { collection_name: 'c' });
    t.equal(refused.status, 503);
    t.equal(refused.headers.get('retry-after'), '1');
    t.equal(refused.headers.get('retry-after-ms'), '1000');
    t.equal(refused.headers.get('connection'), 'close');
    list.release();
    t.same(await (await slow).json(), { collection_names: ['kept'] });
    await closed;
    await idle.waitForEnd();
    await t.rejects(fetch(`${server.url}/healthz`), 'the port is closed');
    await t.resolves(server.close(0), 'closing is idempotent');
  },
);

serverContract(
  'a server whose socket another process has rejects no request and ends each connection with a reply',
  async ({ t, open, connect }) => {
    const list = createPausedList();
    const server = await open({ services: list.services });
    const keptAlive = await connect(server);
    keptAlive.sendHead('GET', '/healthz');
    t.not((await keptAlive.readReply()).headers.get('connection'), 'close');
    const slow = post(server, listPath);
    await waitUntil(list.isRunning);
    server.shareSocket();
    const closed = server.close(testEventMsMax);
    await t.rejects(fetch(`${server.url}/healthz`), 'it accepts no connections');
    keptAlive.sendHead('POST', '/v1/collections/delete-collection', { 'content-length': '23' });
    keptAlive.send('{"collection_name":"c"}');
    const served = await keptAlive.readReply();
    t.equal(served.status, 200);
    t.equal(served.headers.get('connection'), 'close');
    await keptAlive.waitForEnd();
    list.release();
    t.same(await (await slow).json(), { collection_names: ['kept'] });
    await closed;
  },
);

serverContract('requests wait for the start of a server that replaces another one', async ({ t, open }) => {
  let isReady = false;
  let finish = () => {};
  const started = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const notReadyReason = () => (isReady ? null : 'The server is loading.');
  const server = await open({ started, notReadyReason });
  const reply = post(server, listPath);
  t.equal((await fetch(`${server.url}/healthz`)).status, 200, 'pages do not wait');
  isReady = true;
  finish();
  t.equal((await reply).status, 200);
});

serverContract('a call that fails because the server stops returns 503', async ({ t, open }) => {
  const { opened, open: release } = createGate();
  let running = false;
  const server = await open({
    services: {
      getCollectionList: async () => {
        running = true;
        await opened;
        throw new Error('Terminating worker thread');
      },
    },
  });
  const failing = post(server, listPath);
  await waitUntil(() => running);
  const closed = server.close(testEventMsMax);
  release();
  const reply = await failing;
  t.equal(reply.status, 503);
  t.match(await reply.json(), { detail: /shutting down/ });
  await closed;
});

serverContract('draining is bounded in time', async ({ t, open }) => {
  let running = false;
  const server = await open({
    services: {
      getCollectionList: (call) => {
        running = true;
        return new Promise((_, reject) => {
          call.cancellation.signal.addEventListener('abort', () => reject(call.cancellation.signal.reason));
        });
      },
    },
  });
  const slow = post(server, listPath);
  await waitUntil(() => running);
  await server.close(50);
  const reply = await slow;
  t.equal(reply.status, 503);
  t.match(await reply.json(), { detail: /shutting down/ });
});
