import { once } from 'node:events';
import t, { type Test } from 'tap';
import { AppError } from '../../src/base/app-error.ts';
import type { UploadParameters } from '../../src/schemas/documents.ts';
import { fakeFile, openTestDoor, pageBytes, post, type TestDoor, type TestDoorOptions } from './fakes.ts';
import { RawClient, sleep, until } from './raw-client.ts';

/** One contract for both servers: what a client may rely on, whichever of them is running. */

const list = '/v1/collections/get-collection-list';
const add = '/v1/documents/add-document';
const megabyte = 1_048_576;

/** Some of these wait for a time-out of a server, so they run side by side. */
t.jobs = 6;

type Kind = 'uws' | 'node';
interface Stage {
  readonly t: Test;
  readonly kind: Kind;
  readonly open: (options?: TestDoorOptions) => Promise<TestDoor>;
  readonly connect: (door: TestDoor) => Promise<RawClient>;
}

function contract(title: string, run: (stage: Stage) => Promise<void>): void {
  for (const kind of ['uws', 'node'] as const) {
    t.test(`${kind}: ${title}`, async (t) => {
      const open = async (options?: TestDoorOptions) => {
        const door = await openTestDoor(kind, options);
        t.teardown(() => door.close(0));
        return door;
      };
      const connect = async (door: TestDoor) => {
        const client = await RawClient.open(door.port);
        t.teardown(() => client.close());
        return client;
      };
      await run({ t, kind, open, connect });
    });
  }
}

/** A service that runs until the test lets it go. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

contract('a body that says it is too long is refused before it is sent', async ({ t, open, connect }) => {
  const client = await connect(await open());
  client.head('POST', add, { 'content-length': '900000000' });
  const reply = await client.reply();
  t.equal(reply.status, 413);
  t.match(reply.body.toString(), /"detail":"The request body is larger than the limit of 3,000,000 bytes."/);
  await client.ended();
});

contract(
  'a chunked body is refused as soon as it is too long, while it is still arriving',
  async ({ t, open, connect }) => {
    const client = await connect(await open());
    client.head('POST', add, { 'transfer-encoding': 'chunked' });
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
    for (let i = 0; i < 50; i++) client.send(chunk);
    const reply = await client.reply();
    t.equal(reply.status, 413);
    await client.ended();
  },
);

contract('a client that sends its whole over-long body reads the refusal', async ({ t, open }) => {
  const door = await open();
  const reply = await post(door, add, ' '.repeat(6_000_000));
  t.equal(reply.status, 413);
  t.match(await reply.json(), { detail: String });
});

contract('a chunked body is read like any other', async ({ t, open, connect }) => {
  const client = await connect(await open());
  client.head('POST', '/collections/delete-collection', { 'transfer-encoding': 'chunked' });
  client.send('13\r\n{"collection_name":\r\n');
  await sleep(20);
  client.send('4\r\n"c"}\r\n0\r\n\r\n');
  t.equal((await client.reply()).status, 200);
});

contract('an upload that expects 100 Continue gets it and is answered', async ({ t, open, connect }) => {
  const client = await connect(await open());
  client.head('PUT', '/v1/documents/c/p', { 'content-length': '5', expect: '100-continue' });
  t.equal((await client.reply()).status, 100);
  client.send('hello');
  t.equal((await client.reply()).status, 201);
});

contract(
  'an upload that may not be made is refused without waiting for its body',
  async ({ t, kind, open, connect }) => {
    let served = false;
    const door = await open({
      services: {
        uploadDocument: async () => {
          served = true;
          throw new AppError('conflict', 'no');
        },
      },
    });
    for (const [key, status] of [
      ['Bearer read', 403],
      ['Bearer wrong', 401],
    ] as const) {
      const client = await connect(door);
      client.head('PUT', '/v1/documents/c/p', {
        authorization: key,
        'content-length': '5000000',
        expect: '100-continue',
      });
      let reply = await client.reply();
      // uWebSockets.js has no way to hold its interim reply back; it says nothing about the final one.
      if (kind === 'uws' && reply.status === 100) reply = await client.reply();
      t.equal(reply.status, status);
      await client.ended();
    }
    t.equal(served, false);
  },
);

contract('an expectation nobody knows is refused', async ({ t, open, connect }) => {
  const client = await connect(await open());
  client.head('POST', list, { expect: 'miracles', 'content-length': '0' });
  t.equal((await client.reply()).status, 417);
});

contract('a call learns that its client went away', async ({ t, open, connect }) => {
  let signal: AbortSignal | undefined;
  const { opened, open: release } = gate();
  const door = await open({
    services: {
      getCollectionList: async (call) => {
        signal = call.signal;
        await opened;
        return { collection_names: [] };
      },
    },
  });
  const client = await connect(door);
  client.head('POST', list, { 'content-length': '2' });
  client.send('{}');
  await until(() => signal !== undefined);
  client.close();
  await until(() => signal?.aborted === true);
  release();
  t.match(signal?.reason, { name: 'ClientGone' });
  t.equal((await post(door, '/collections/delete-collection', { collection_name: 'c' })).status, 200);
  t.match(
    await door.registry.metrics(),
    /quarry_http_requests_total\{operation="get-collection-list",status="499"\} 1/,
  );
});

contract(
  'an upload whose client goes away ends with an error and not with a part of the file',
  async ({ t, open, connect }) => {
    let outcome = 'none';
    const door = await open({
      services: {
        uploadDocument: async (_call, _parameters, body) => {
          try {
            for await (const _ of body);
            outcome = 'complete';
          } catch (error) {
            outcome = (error as Error).name;
            throw error;
          }
          return { status: 201, body: {} };
        },
      },
    });
    const client = await connect(door);
    client.head('PUT', '/v1/documents/c/p', { 'content-length': '1000000' });
    client.send('x'.repeat(100_000));
    await sleep(50);
    client.close();
    await until(() => outcome !== 'none');
    t.equal(outcome, 'ClientGone');
  },
);

contract('a client that stops in the middle of its body gets 408', async ({ t, open, connect }) => {
  const client = await connect(await open({ settings: { bodyIdleMsMax: 100 } }));
  client.head('POST', add, { 'content-length': '1000' });
  client.send('{');
  const reply = await client.reply();
  t.equal(reply.status, 408);
  await client.ended();
});

contract('a client that never finishes its headers is cut off', async ({ t, open, connect }) => {
  const client = await connect(await open());
  client.send('POST /v1/collections/get-collection-list HTTP/1.1\r\nhost: te');
  await client.ended();
  t.pass('the connection ended');
});

contract('a client that does not read its reply is cut off', async ({ t, open, connect }) => {
  let returned = false;
  const door = await open({
    bounds: { replyIdleMsMax: 200 },
    services: {
      getDocumentFile: async () => ({
        ...fakeFile(''),
        size: 256 * megabyte,
        open: async function* () {
          try {
            for (let i = 0; i < 256; i++) yield Buffer.alloc(megabyte);
          } finally {
            returned = true;
          }
        },
      }),
    },
  });
  const client = await connect(door);
  client.socket.pause();
  client.head('GET', '/v1/documents/get-document?token=t');
  await until(() => returned);
  client.socket.resume();
  await client.ended();
  await t.rejects(client.reply(), /the connection ended/);
});

contract(
  'one connection carries many requests, refused ones with unread bodies among them',
  async ({ t, open, connect }) => {
    const client = await connect(await open());
    for (let round = 0; round < 3; round++) {
      client.head('POST', list, { 'content-length': '0' });
      t.equal((await client.reply()).status, 200);
      client.head('POST', add, { authorization: 'Bearer wrong', 'content-length': '300000' });
      const refused = client.reply();
      client.send('x'.repeat(300_000));
      t.equal((await refused).status, 401);
      client.head('HEAD', '/healthz');
      t.equal((await client.reply({ hasBody: false })).status, 200);
    }
  },
);

contract('pipelined requests are answered in order, or the connection ends', async ({ t, open, connect }) => {
  const door = await open({
    services: {
      deleteCollection: async () => {
        await sleep(30);
        return {};
      },
    },
  });
  const client = await connect(door);
  const slow = '{"collection_name":"c"}';
  client.head('POST', '/v1/collections/delete-collection', { 'content-length': String(slow.length) });
  client.send(slow);
  client.head('GET', '/v1/nowhere');
  const statuses: number[] = [];
  try {
    for (let i = 0; i < 2; i++) statuses.push((await client.reply()).status);
  } catch {
    // the connection ended; what came before it is checked below
  }
  t.ok(['', '200', '200,404'].includes(statuses.join()), `got ${statuses.join()}`);
  t.equal((await post(door, list)).status, 200);
});

contract('a flood of pipelined requests does no harm', async ({ t, open, connect }) => {
  const door = await open();
  const client = await connect(door);
  client.send(
    `POST ${list} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer all\r\ncontent-length: 0\r\n\r\n`.repeat(
      2_000,
    ),
  );
  await Promise.race([client.ended(), sleep(200)]);
  t.equal((await post(door, list)).status, 200);
});

contract(
  'HEAD answers the headers of GET, with the length and without the body',
  async ({ t, open, connect }) => {
    const client = await connect(await open());
    for (const path of [
      '/docs',
      '/openapi.json',
      '/v1/documents/get-document?token=t',
      '/documents/get-page-image?token=t',
      '/nowhere',
    ]) {
      client.head('GET', path);
      const get = await client.reply();
      client.head('HEAD', path);
      const head = await client.reply({ hasBody: false });
      t.equal(head.status, get.status, path);
      t.equal(head.headers.get('content-length'), String(get.body.length), path);
      t.equal(head.headers.get('content-type'), get.headers.get('content-type'), path);
    }
  },
);

contract('the wrong method answers 405 with those that work', async ({ t, open }) => {
  const door = await open();
  const cases = [
    ['GET', add, 'POST'],
    ['POST', '/healthz', 'GET, HEAD'],
    ['DELETE', '/v1/documents/get-document', 'GET, HEAD'],
    ['GET', '/v1/documents/c/a%2Fb', 'PUT'],
    ['OPTIONS', '/embeddings', 'POST'],
  ] as const;
  for (const [method, path, allow] of cases) {
    const reply = await fetch(`${door.url}${path}`, { method });
    t.equal(reply.status, 405, path);
    t.equal(reply.headers.get('allow'), allow, path);
    t.match(await reply.json(), { detail: String });
  }
});

contract('every reply carries its request id and is not cached', async ({ t, open }) => {
  const door = await open();
  for (const path of ['/healthz', '/nowhere', add, '/v1/documents/get-document', '/metrics', '/%ff']) {
    const reply = await fetch(`${door.url}${path}`);
    t.match(reply.headers.get('x-request-id'), /^[0-9a-f-]{36}$/, path);
    t.equal(reply.headers.get('cache-control'), 'no-store', path);
    t.equal(reply.headers.get('x-content-type-options'), 'nosniff', path);
  }
});

contract(
  'stopping lets running calls finish, answers new ones 503, then stops listening',
  async ({ t, open, connect }) => {
    const { opened, open: release } = gate();
    let running = false;
    const door = await open({
      services: {
        getCollectionList: async () => {
          running = true;
          await opened;
          return { collection_names: ['kept'] };
        },
      },
    });
    const idle = await connect(door);
    const slow = post(door, list);
    await until(() => running);
    const closed = door.close(5_000);
    const refused = await post(door, '/v1/collections/delete-collection', { collection_name: 'c' });
    t.equal(refused.status, 503);
    t.equal(refused.headers.get('retry-after'), '1');
    t.equal(refused.headers.get('retry-after-ms'), '1000');
    t.equal(refused.headers.get('connection'), 'close');
    release();
    t.same(await (await slow).json(), { collection_names: ['kept'] });
    await closed;
    await idle.ended();
    await t.rejects(fetch(`${door.url}/healthz`), 'nobody listens any more');
    await t.resolves(door.close(0), 'closing twice does no harm');
  },
);

contract('stopping does not wait for ever', async ({ t, open }) => {
  let running = false;
  const door = await open({
    services: {
      getCollectionList: (call) => {
        running = true;
        return new Promise((_, reject) => {
          call.signal.addEventListener('abort', () => reject(call.signal.reason));
        });
      },
    },
  });
  const slow = post(door, list);
  await until(() => running);
  await door.close(50);
  const reply = await slow;
  t.equal(reply.status, 503);
  t.match(await reply.json(), { detail: /stopping/ });
});

contract('a call that takes too long answers 503 and is told to stop', async ({ t, open }) => {
  let signal: AbortSignal | undefined;
  const door = await open({
    settings: { requestMsMax: 50 },
    services: {
      getCollectionList: (call) => {
        signal = call.signal;
        return new Promise(() => {});
      },
    },
  });
  const reply = await post(door, list);
  t.equal(reply.status, 503);
  t.ok(reply.headers.get('retry-after'));
  t.equal(signal?.aborted, true);
});

contract('a fast upload waits for a slow disk, not in memory', async ({ t, open, connect }) => {
  const { opened, open: release } = gate();
  let bytes = 0;
  const door = await open({
    services: {
      uploadDocument: async (_call, _parameters, body) => {
        for await (const chunk of body) {
          bytes += chunk.byteLength;
          await opened;
        }
        return { status: 201, body: {} };
      },
    },
  });
  const size = 100 * megabyte;
  const client = await connect(door);
  client.head('PUT', '/v1/documents/c/p', { 'content-length': String(size) });
  const chunk = Buffer.alloc(megabyte);
  let sent = 0;
  const sending = (async () => {
    for (; sent < size; sent += chunk.length) if (!client.send(chunk)) await once(client.socket, 'drain');
  })();
  await sleep(300);
  t.ok(sent < size / 2, `only ${sent} bytes left the client while the disk stood still`);
  release();
  await sending;
  t.equal((await client.reply()).status, 201);
  t.equal(bytes, size);
});

contract(
  'a long file is read no faster than its client takes it, and arrives whole',
  async ({ t, open, connect }) => {
    const size = 64 * megabyte;
    let produced = 0;
    const door = await open({
      services: {
        getDocumentFile: async () => ({
          ...fakeFile(''),
          size,
          open: async function* ({ start, end }) {
            for (let at = start; at < end; at += megabyte) {
              produced += megabyte;
              yield Buffer.alloc(Math.min(megabyte, end - at), at / megabyte);
            }
          },
        }),
      },
    });
    const client = await connect(door);
    client.socket.pause();
    client.head('GET', '/v1/documents/get-document?token=t');
    await sleep(300);
    t.ok(produced < size / 2, `only ${produced} bytes were read while the client stood still`);
    client.socket.resume();
    const reply = await client.reply();
    t.equal(reply.body.length, size);
    for (const i of [0, 1, 17, 63]) t.equal(reply.body[i * megabyte + 5], i, `megabyte ${i} is in its place`);
    client.head('GET', '/healthz');
    t.equal((await client.reply()).status, 200, 'the connection lives on');
  },
);

contract('a file whose client goes away is closed', async ({ t, open, connect }) => {
  let returned = false;
  const door = await open({
    services: {
      getDocumentFile: async () => ({
        ...fakeFile(''),
        size: 64 * megabyte,
        open: async function* () {
          try {
            for (let i = 0; i < 64; i++) yield Buffer.alloc(megabyte);
          } finally {
            returned = true;
          }
        },
      }),
    },
  });
  const client = await connect(door);
  client.head('GET', '/v1/documents/get-document?token=t');
  await client.bytes(megabyte);
  client.close();
  await until(() => returned);
  t.pass('the file was closed');
});

contract(
  'a file that cannot be read to its end breaks the connection instead of looking whole',
  async ({ t, open, connect }) => {
    const door = await open({
      services: {
        getDocumentFile: async () => ({
          ...fakeFile(''),
          size: 1_000_000,
          open: async function* () {
            yield Buffer.alloc(1_000);
            throw new Error('disk');
          },
        }),
      },
    });
    const client = await connect(door);
    client.head('GET', '/v1/documents/get-document?token=t');
    await t.rejects(client.reply(), /the connection ended/);
    t.equal((await post(door, list)).status, 200);
  },
);

contract('ranges, validators and empty files work', async ({ t, open }) => {
  const door = await open();
  const get = (headers: Record<string, string>) =>
    fetch(`${door.url}/v1/documents/get-document?token=t`, { headers });
  const cases = [
    ['bytes=1-3', 206, 'ell', 'bytes 1-3/5'],
    ['bytes=3-', 206, 'lo', 'bytes 3-4/5'],
    ['bytes=-2', 206, 'lo', 'bytes 3-4/5'],
    ['bytes=0-99', 206, 'hello', 'bytes 0-4/5'],
    ['bytes=0-1,3-4', 200, 'hello', null],
    ['lines=1-2', 200, 'hello', null],
  ] as const;
  for (const [range, status, body, contentRange] of cases) {
    const reply = await get({ range });
    t.equal(reply.status, status, range);
    t.equal(await reply.text(), body, range);
    t.equal(reply.headers.get('content-range'), contentRange, range);
  }
  const outside = await get({ range: 'bytes=5-' });
  t.equal(outside.status, 416);
  t.equal(outside.headers.get('content-range'), 'bytes */5');
  const same = await get({ 'if-none-match': '"e1"' });
  t.equal(same.status, 304);
  t.equal(await same.text(), '');
  t.equal((await get({ 'if-none-match': '"e2"' })).status, 200);
  const empty = await open({ services: { getDocumentFile: async () => fakeFile('') } });
  const reply = await fetch(`${empty.url}/documents/get-document?token=t`);
  t.equal(reply.status, 200);
  t.equal(await reply.text(), '');
});

contract('token addresses need no key, cache for ever, and their errors do not', async ({ t, open }) => {
  const door = await open({
    services: {
      getDocumentFile: async (_call, token) => {
        if (token !== 't') throw new AppError('not_found', 'The document is gone.');
        return fakeFile('<script>', 'text/html', 'a "b"/ü.html');
      },
    },
  });
  const reply = await fetch(`${door.url}/v1/documents/get-document?token=t`);
  t.equal(reply.headers.get('cache-control'), 'private, max-age=31536000, immutable');
  t.equal(reply.headers.get('content-type'), 'text/html');
  t.equal(reply.headers.get('content-security-policy'), "default-src 'none'; sandbox");
  t.equal(
    reply.headers.get('content-disposition'),
    `attachment; filename="a _b_/_.html"; filename*=UTF-8''a%20%22b%22%2F%C3%BC.html`,
  );
  const gone = await fetch(`${door.url}/v1/documents/get-document?token=x`);
  t.equal(gone.status, 404);
  t.equal(gone.headers.get('cache-control'), 'no-store');
  const image = await fetch(`${door.url}/documents/get-page-image?token=t`);
  t.same(new Uint8Array(await image.arrayBuffer()), pageBytes);
  t.equal(image.headers.get('content-type'), 'image/jpeg');
  for (const path of ['get-document', 'get-page-image', 'get-document?token=']) {
    const missing = await fetch(`${door.url}/v1/documents/${path}`);
    t.equal(missing.status, 422, path);
    t.match(await missing.json(), { detail: [{ loc: ['query', 'token'], type: 'missing' }] });
  }
});

contract('a raw upload says its path, metadata and wishes beside its body', async ({ t, open }) => {
  const seen: { parameters: UploadParameters; bytes: number }[] = [];
  const door = await open({
    services: {
      uploadDocument: async (_call, parameters, body) => {
        let bytes = 0;
        for await (const chunk of body) bytes += chunk.byteLength;
        seen.push({ parameters, bytes });
        return { status: 201, body: { message: 'Success!', index_status: 'indexed' } };
      },
    },
  });
  const metadata = Buffer.from(JSON.stringify({ author: 'Ädä' })).toString('base64url');
  const reply = await fetch(`${door.url}/v1/documents/my%20c/a%2Fb/c%20%C3%BC.pdf?overwrite=true&wait=true`, {
    method: 'PUT',
    headers: { authorization: 'Bearer all', 'x-quarry-metadata': metadata },
    body: Buffer.alloc(5 * megabyte),
  });
  t.equal(reply.status, 201);
  t.same(await reply.json(), { message: 'Success!', index_status: 'indexed' });
  t.same(seen, [
    {
      parameters: {
        collection_name: 'my c',
        path: 'a/b/c ü.pdf',
        metadata: { author: 'Ädä' },
        overwrite: true,
        wait: true,
      },
      bytes: 5 * megabyte,
    },
  ]);
});

contract('a form streams its file, after its fields', async ({ t, open }) => {
  const seen: { parameters: UploadParameters; bytes: number }[] = [];
  const door = await open({
    services: {
      uploadDocument: async (_call, parameters, body) => {
        let bytes = 0;
        for await (const chunk of body) bytes += chunk.byteLength;
        seen.push({ parameters, bytes });
        return { status: 201, body: {} };
      },
    },
  });
  const form = new FormData();
  form.set('collection_name', 'c');
  form.set('path', 'a/ü.bin');
  form.set('metadata', '{"list:x":["1"]}');
  form.set('overwrite', 'true');
  form.set('file', new Blob([Buffer.alloc(3 * megabyte)]), 'x.bin');
  const send = (body: FormData) =>
    fetch(`${door.url}/v1/documents/upload`, {
      method: 'POST',
      headers: { authorization: 'Bearer all' },
      body,
    });
  t.equal((await send(form)).status, 201);
  const parameters = {
    collection_name: 'c',
    path: 'a/ü.bin',
    metadata: { 'list:x': ['1'] },
    overwrite: true,
    wait: false,
  };
  t.same(seen, [{ parameters, bytes: 3 * megabyte }]);
  form.append('late', 'x');
  const late = await send(form);
  t.equal(late.status, 422);
  t.match(await late.json(), { detail: [{ msg: /"late" comes after the file/ }] });
  t.equal(seen.length, 1, 'the service was not told that the file is complete');
});

contract('a form that ends inside its file is refused', async ({ t, open, connect }) => {
  let complete = false;
  const door = await open({
    services: {
      uploadDocument: async (_call, _parameters, body) => {
        for await (const _ of body);
        complete = true;
        return { status: 201, body: {} };
      },
    },
  });
  const part = (name: string, value: string) =>
    `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const file = '--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\nhalf of it';
  const body = part('collection_name', 'c') + part('path', 'p') + file;
  const client = await connect(door);
  client.head('POST', '/documents/upload', {
    'content-type': 'multipart/form-data; boundary=b',
    'content-length': String(body.length),
  });
  client.send(body);
  t.equal((await client.reply()).status, 422);
  t.equal(complete, false);
});

contract('a long JSON reply arrives whole', async ({ t, open }) => {
  const names = Array.from({ length: 200_000 }, (_, i) => `collection number ${i}`);
  const door = await open({ services: { getCollectionList: async () => ({ collection_names: names }) } });
  t.same(await (await post(door, list)).json(), { collection_names: names });
});

contract(
  'headers as long as the largest metadata are taken, longer ones are refused',
  async ({ t, open, connect }) => {
    const door = await open();
    const client = await connect(door);
    const metadata = Buffer.from(JSON.stringify({ a: 'x'.repeat(65_500) })).toString('base64url');
    client.head('PUT', '/v1/documents/c/p', { 'content-length': '0', 'x-quarry-metadata': metadata });
    t.equal((await client.reply()).status, 201);
    const other = await connect(door);
    other.head('PUT', '/v1/documents/c/p', {
      'content-length': '0',
      'x-quarry-metadata': 'x'.repeat(200_000),
    });
    t.equal((await other.reply()).status, 431);
    await other.ended();
  },
);

contract('bytes that are not HTTP end their connection and nothing else', async ({ t, open, connect }) => {
  const door = await open();
  for (const garbage of [
    '\x16\x03\x01\x02\x00\x01\x00',
    'NONSENSE\r\n\r\n',
    'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -4\r\n\r\n',
  ]) {
    const client = await connect(door);
    client.send(garbage);
    await Promise.race([client.ended(), sleep(1_500)]);
    client.close();
    t.equal((await post(door, list)).status, 200);
  }
});

contract(
  'an unexpected failure answers 500 with the number under which the log has it',
  async ({ t, open }) => {
    const lines: Record<string, unknown>[] = [];
    const record = (fields: Readonly<Record<string, unknown>>) => void lines.push({ ...fields });
    const quiet = () => {};
    const logger = { debug: quiet, info: quiet, warn: record, error: record, child: () => logger };
    const door = await open({
      logger,
      services: {
        getCollectionList: async () => {
          throw new Error('secret words of a document');
        },
      },
    });
    const reply = await post(door, list);
    const { detail } = (await reply.json()) as { detail: string };
    t.equal(reply.status, 500);
    t.ok(detail.includes(reply.headers.get('x-request-id') ?? 'none'));
    t.notMatch(detail, /secret/);
    t.match(JSON.stringify(lines), /secret words/);
    lines.length = 0;
    t.equal((await post(door, list, {}, { authorization: 'Bearer zdr' })).status, 500);
    t.equal(lines.length, 1);
    t.notMatch(
      JSON.stringify(lines),
      /secret words/,
      'no text of a zero-retention organisation reaches the log',
    );
  },
);
