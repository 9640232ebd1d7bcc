import { setTimeout as sleep } from 'node:timers/promises';
import { unauthorizedError } from '../../src/auth/authorize.ts';
import { AppError } from '../../src/core/app-error.ts';
import type { AccountServices } from '../../src/http/routes/account-route.ts';
import type { Principal } from '../../src/schemas/principal.ts';
import type { Test } from '../support/tap.ts';
import { pageBytes, post, type TestHttpServer } from './fake-services.ts';
import { addPath, createGate, serverContract } from './server-contract.ts';

/** Limits per caller, and that one caller does not use up the capacity of the others. */

const uploadPath = '/v1/documents/c/p';
const imagePath = '/v1/documents/get-page-image?token=t';

/** Keys `one`, `two` and so on, each of a separate organization; `revoked` holds keys that are no longer valid. */
function createTenants() {
  const revoked = new Set<string>();
  const authenticate = ({ header }: { header: (name: string) => string | undefined }): Principal | null => {
    const name = header('authorization')?.replace('Bearer ', '');
    if (name === undefined) return null;
    if (revoked.has(name)) throw unauthorizedError('The API key is not valid.');
    return { kind: 'organization', organizationId: name, keyId: name, permission: 'all', zdr: false };
  };
  return { revoked, identity: { authenticate } };
}

/** A clock that the test advances. */
function createMovableClock() {
  let ahead = 0;
  const monotonic = () => performance.now() + ahead;
  return { clock: { now: () => Date.now() + ahead, monotonic }, passes: (ms: number) => (ahead += ms) };
}

/** Waits for a condition; the limit of a minute only ends a failing test and asserts no duration. */
async function until(t: Test, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000;
  while (!(await isTrue())) {
    if (performance.now() > end) t.bailout('the expected event did not happen');
    await sleep(10);
  }
}

const bodyBytes = async (server: TestHttpServer): Promise<number> =>
  Number(/quarry_http_body_bytes (\d+)/.exec(await server.metrics.text())?.[1]);

serverContract('each kind of operation has its own limit of bytes', async ({ t, open }) => {
  const server = await open({ settings: { jsonBytesMax: 20_000_000, jsonBytesHeldMax: 200_000_000 } });
  const blank = (bytes: number) => ' '.repeat(bytes);
  const statuses = async (path: string, bytes: number) => (await post(server, path, blank(bytes))).status;
  t.equal(await statuses('/v1/queries/top-documents', 2_097_153), 413);
  t.equal(await statuses('/v1/queries/top-documents', 2_000_000), 422, 'a body within the limit is read');
  t.equal(await statuses('/v1/models/embed', 6_000_001), 413);
  t.equal(await statuses('/v1/models/embed', 5_900_000), 422);
  t.equal(await statuses('/api/auth/magic-link/send', 65_537), 413);
  t.equal(
    await statuses('/v1/admin/create-organization', 65_537),
    403,
    'missing permission is reported first',
  );
  t.equal(await statuses('/api/billing/webhook', 262_145), 413);
  t.equal(await statuses(addPath, 7_000_000), 422, 'documents can be large');
});

serverContract(
  'a body with too many values is rejected before it is complete',
  async ({ t, open, connect }) => {
    const server = await open({ settings: { jsonBytesMax: 20_000_000, jsonBytesHeldMax: 200_000_000 } });
    const client = await connect(server);
    client.sendHead('POST', addPath, { 'content-length': '5700000' });
    client.send(`{"collection_name":"c","path":"p","content":{"type":"text","text":"x"},"wait":true,"x":[{}`);
    client.send(',{}'.repeat(270_000));
    const reply = await client.readReply();
    t.equal(reply.status, 400);
    t.match(reply.body.toString(), /more than 262144 objects, lists and strings/);
    const query = await post(server, '/v1/queries/top-documents', `{"filter":[${'0,'.repeat(70_000)}0]}`);
    t.equal(query.status, 400);
    t.match(await query.text(), /more than 65536 JSON values/);
  },
);

serverContract('fields that an operation does not know are dropped before it runs', async ({ t, open }) => {
  const receivedBodies: object[] = [];
  const { opened, open: release } = createGate();
  const server = await open({
    services: {
      addDocument: async (_call, request) => {
        receivedBodies.push(request);
        await opened;
        return { status: 201, body: {} };
      },
    },
  });
  const known = { collection_name: 'c', path: 'p', content: { type: 'text', text: 'x' }, wait: true };
  const waiting = post(server, addPath, { ...known, x: Array(50_000).fill({}) });
  await until(t, () => receivedBodies.length === 1);
  t.same(
    receivedBodies.map((request) => Object.keys(request).sort()),
    [Object.keys(known).sort()],
  );
  t.ok((await bodyBytes(server)) < 10_000, 'a waiting request is charged for the remaining fields');
  release();
  t.equal((await waiting).status, 201);
  t.equal(await bodyBytes(server), 0);
});

serverContract(
  'large bodies of one organization leave memory for other organizations',
  async ({ t, open, connect }) => {
    const { identity } = createTenants();
    const server = await open({
      authenticator: identity,
      settings: { jsonBytesHeldMax: 4_000_000, jsonBytesMax: 3_000_000 },
    });
    const text = (bytes: number) =>
      JSON.stringify({ collection_name: 'c', path: 'p', content: { type: 'text', text: 'x'.repeat(bytes) } });
    const send = (name: string, bytes: number) =>
      post(server, addPath, text(bytes), { authorization: `Bearer ${name}` });
    const slow = await connect(server);
    slow.sendHead('POST', addPath, { authorization: 'Bearer one', 'content-length': '2000000' });
    slow.send(text(1_900_000).slice(0, 1_800_000));
    await until(t, async () => (await bodyBytes(server)) >= 1_800_000);
    const refused = await send('one', 400_000);
    t.equal(refused.status, 429);
    t.equal(refused.headers.get('x-quarry-limit'), 'request-bodies');
    t.equal((await send('two', 800_000)).status, 201);
    slow.close();
    await until(t, async () => (await bodyBytes(server)) === 0);
    t.equal((await send('one', 400_000)).status, 201, 'all memory is released');
  },
);

serverContract(
  'slow uploads of one organization do not block uploads of others',
  async ({ t, open, connect }) => {
    const { identity } = createTenants();
    const { clock, passes } = createMovableClock();
    let receiving = 0;
    const server = await open({
      authenticator: identity,
      clock,
      settings: { uploadsRunningMax: 4 },
      services: {
        uploadDocument: async (_call, _parameters, body) => {
          for await (const _ of body) receiving += 1;
          return { status: 201, body: {} };
        },
      },
    });
    const begin = async (name: string) => {
      const client = await connect(server);
      client.sendHead('PUT', uploadPath, { authorization: `Bearer ${name}`, 'content-length': '2' });
      client.send('x');
      return client;
    };
    const slow = await Promise.all(Array.from({ length: 4 }, () => begin('slow')));
    await until(t, () => receiving === 4);
    t.equal((await (await begin('slow')).readReply()).status, 503, 'its share is exhausted');
    const first = await begin('guest');
    await until(t, () => receiving === 5);
    passes(1_500);
    const second = await begin('guest');
    const ended = await Promise.race(slow.map((client) => client.readReply()));
    t.equal(ended.status, 503);
    t.match(ended.body.toString(), /idle and was canceled/);
    await until(t, () => receiving === 6);
    for (const rawClient of [first, second]) {
      rawClient.send('y');
      t.equal((await rawClient.readReply()).status, 201);
    }
  },
);

serverContract(
  'a form that is rejected before its file is read releases its upload permit',
  async ({ t, open }) => {
    let isTaken = true;
    const server = await open({
      settings: { uploadsRunningMax: 2 },
      services: {
        uploadDocument: async (_call, _parameters, body) => {
          if (isTaken) throw new AppError('conflict', 'The path is taken.');
          for await (const _ of body);
          return { status: 201, body: {} };
        },
      },
    });
    const upload = async () => {
      const form = new FormData();
      form.set('collection_name', 'c');
      form.set('path', 'p');
      form.set('file', new Blob(['x'.repeat(400_000)]), 'p.txt');
      const headers = { authorization: 'Bearer all' };
      return fetch(`${server.url}/v1/documents/upload`, { method: 'POST', headers, body: form });
    };
    for (let i = 0; i < 8; i++) t.equal((await upload()).status, 409);
    isTaken = false;
    t.equal((await upload()).status, 201);
  },
);

serverContract('an upload ends when its key is deleted', async ({ t, open, connect }) => {
  const { identity, revoked } = createTenants();
  const { clock, passes } = createMovableClock();
  let received = 0;
  let stored = 0;
  const server = await open({
    authenticator: identity,
    clock,
    services: {
      uploadDocument: async (_call, _parameters, body) => {
        for await (const _ of body) received += 1;
        stored += 1;
        return { status: 201, body: {} };
      },
    },
  });
  const begin = async (contentLength: string) => {
    const client = await connect(server);
    client.sendHead('PUT', uploadPath, { authorization: 'Bearer one', 'content-length': contentLength });
    client.send('x');
    return client;
  };
  const [long, short] = [await begin('100'), await begin('2')];
  await until(t, () => received === 2);
  revoked.add('one');
  passes(2_000);
  long.send('y');
  t.equal((await long.readReply()).status, 401, 'during the body');
  short.send('y');
  t.equal((await short.readReply()).status, 401, 'at the end of the body');
  t.equal(stored, 0);
});

serverContract('pages share the concurrency limit; probes always answer', async ({ t, open }) => {
  const { opened, open: release } = createGate();
  let hanging = 0;
  const server = await open({
    settings: { requestsRunningMax: 2 },
    services: {
      getPageImage: async () => {
        hanging += 1;
        await opened;
        return { bytes: pageBytes, contentType: 'image/jpeg' };
      },
    },
  });
  const images = [1, 2].map(() => fetch(`${server.url}${imagePath}`));
  await until(t, () => hanging === 2);
  for (const path of ['/docs', '/openapi.json', '/app/', imagePath])
    t.equal((await fetch(`${server.url}${path}`)).status, 503, path);
  for (const path of ['/healthz', '/readyz', '/metrics'])
    t.equal((await fetch(`${server.url}${path}`)).status, 200, path);
  t.equal((await post(server, '/v1/collections/get-collection-list', {})).status, 200, 'another caller');
  release();
  for (const image of images) t.equal((await image).status, 200);
});

serverContract('webhooks of one address are limited before they are read', async ({ t, open }) => {
  const server = await open({
    settings: { webhookWindows: [{ ms: 60_000, max: 2 }] },
    accounts: {
      billing: { webhook: async () => ({ message: 'Success!' }) },
    } as unknown as AccountServices,
  });
  const statuses = [];
  for (let i = 0; i < 3; i += 1) statuses.push((await post(server, '/api/billing/webhook', {})).status);
  t.equal(statuses[2], 429);
  t.not(statuses[1], 429);
});

serverContract(
  'a binary reply to a request with a long unread body is complete',
  async ({ t, open, connect }) => {
    const server = await open();
    const client = await connect(server);
    client.sendHead('GET', imagePath, { 'content-length': '2000000' });
    const reply = await client.readReply();
    t.equal(reply.status, 200);
    t.same(reply.body, Buffer.from(pageBytes));
  },
);
