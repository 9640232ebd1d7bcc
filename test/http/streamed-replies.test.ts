import { AppError } from '../../src/core/app-error.ts';
import { RenderedJson } from '../../src/services/rendered-json.ts';
import { fakeFileReply, pageBytes, post } from './fake-services.ts';
import { sleep, waitUntil } from './raw-client.ts';
import { listPath, megabyte, serverContract } from './server-contract.ts';

/** Contract of both HTTP servers: files and long replies, streamed as fast as the client reads. */

serverContract('a client that does not read its reply is disconnected', async ({ t, open, connect }) => {
  let returned = false;
  const server = await open({
    bounds: { replyIdleMsMax: 200 },
    services: {
      getDocumentFile: async () => ({
        ...fakeFileReply(''),
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
  const client = await connect(server);
  client.socket.pause();
  client.sendHead('GET', '/v1/documents/get-document?token=t');
  await waitUntil(() => returned);
  client.socket.resume();
  await client.waitForEnd();
  await t.rejects(client.readReply(), /the connection ended/);
});

serverContract(
  'a long file is read no faster than its client receives it, and arrives complete',
  async ({ t, open, connect }) => {
    const size = 64 * megabyte;
    let produced = 0;
    const server = await open({
      services: {
        getDocumentFile: async () => ({
          ...fakeFileReply(''),
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
    const client = await connect(server);
    client.socket.pause();
    client.sendHead('GET', '/v1/documents/get-document?token=t');
    await sleep(300);
    t.ok(produced < size / 2, `only ${produced} bytes were read while the client was stalled`);
    client.socket.resume();
    const reply = await client.readReply();
    t.equal(reply.body.length, size);
    for (const i of [0, 1, 17, 63]) t.equal(reply.body[i * megabyte + 5], i, `megabyte ${i} is in its place`);
    client.sendHead('GET', '/healthz');
    t.equal((await client.readReply()).status, 200, 'the connection stays open');
  },
);

serverContract('a file is closed when its client disconnects', async ({ t, open, connect }) => {
  let returned = false;
  const server = await open({
    services: {
      getDocumentFile: async () => ({
        ...fakeFileReply(''),
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
  const client = await connect(server);
  client.sendHead('GET', '/v1/documents/get-document?token=t');
  await client.waitForBytes(megabyte);
  client.close();
  await waitUntil(() => returned);
  t.pass('the file was closed');
});

serverContract(
  'a file that cannot be read to its end aborts the connection',
  async ({ t, open, connect }) => {
    const server = await open({
      services: {
        getDocumentFile: async () => ({
          ...fakeFileReply(''),
          size: 1_000_000,
          open: async function* () {
            yield Buffer.alloc(1_000);
            throw new Error('disk');
          },
        }),
      },
    });
    const client = await connect(server);
    client.sendHead('GET', '/v1/documents/get-document?token=t');
    await t.rejects(client.readReply(), /the connection ended/);
    t.equal((await post(server, listPath)).status, 200);
  },
);

serverContract('ranges, validators and empty files work', async ({ t, open }) => {
  const server = await open();
  const get = (headers: Record<string, string>) =>
    fetch(`${server.url}/v1/documents/get-document?token=t`, { headers });
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
  const empty = await open({ services: { getDocumentFile: async () => fakeFileReply('') } });
  const reply = await fetch(`${empty.url}/documents/get-document?token=t`);
  t.equal(reply.status, 200);
  t.equal(await reply.text(), '');
});

serverContract('token URLs need no key and are cacheable, but their errors are not', async ({ t, open }) => {
  const server = await open({
    services: {
      getDocumentFile: async (_call, token) => {
        if (token !== 't') throw new AppError('not_found', 'The document was deleted.');
        return fakeFileReply('<script>', 'text/html', 'a "b"/ü.html');
      },
    },
  });
  const reply = await fetch(`${server.url}/v1/documents/get-document?token=t`);
  t.equal(reply.headers.get('cache-control'), 'private, max-age=31536000, immutable');
  t.equal(reply.headers.get('content-type'), 'text/html');
  t.equal(reply.headers.get('content-security-policy'), "default-src 'none'; sandbox");
  t.equal(
    reply.headers.get('content-disposition'),
    `attachment; filename="a _b_/_.html"; filename*=UTF-8''a%20%22b%22%2F%C3%BC.html`,
  );
  const unknownToken = await fetch(`${server.url}/v1/documents/get-document?token=x`);
  t.equal(unknownToken.status, 404);
  t.equal(unknownToken.headers.get('cache-control'), 'no-store');
  const image = await fetch(`${server.url}/documents/get-page-image?token=t`);
  t.same(new Uint8Array(await image.arrayBuffer()), pageBytes);
  t.equal(image.headers.get('content-type'), 'image/jpeg');
  for (const path of ['get-document', 'get-page-image', 'get-document?token=']) {
    const missing = await fetch(`${server.url}/v1/documents/${path}`);
    t.equal(missing.status, 422, path);
    t.match(await missing.json(), { detail: [{ loc: ['query', 'token'], type: 'missing' }] });
  }
});

serverContract('a long JSON reply arrives complete', async ({ t, open }) => {
  const names = Array.from({ length: 200_000 }, (_, i) => `collection number ${i}`);
  const server = await open({ services: { getCollectionList: async () => ({ collection_names: names }) } });
  t.same(await (await post(server, listPath)).json(), { collection_names: names });
});

serverContract(
  'replies buffered for slow readers are not overwritten by other replies',
  async ({ t, open, connect }) => {
    const texts = Array.from({ length: 24 }, (_, i) => `${i} ${String.fromCharCode(97 + i).repeat(60_000)}`);
    const server = await open({
      services: {
        topSnippets: async (_call, { query }) => {
          const storedText = Buffer.from(JSON.stringify(texts[Number(query)]));
          const document = '"score":1,"metadata":null,"file_url":"u"';
          const reply = ['{"results":[],"document_results":[{"path":', storedText, `,${document}}]}`];
          return new RenderedJson(reply);
        },
      },
    });
    const clients = await Promise.all(texts.map(() => connect(server)));
    const rounds = 40;
    for (const client of clients) client.socket.pause();
    const request = (i: number) => JSON.stringify({ collection_name: 'c', query: String(i), k: 1 });
    clients.forEach((client, i) => {
      client.sendHead('POST', '/v1/queries/top-snippets', { 'content-length': String(request(i).length) });
      client.send(request(i));
    });
    await sleep(100);
    for (let round = 0; round < rounds; round += 1) {
      const reply = await post(server, '/v1/queries/top-snippets', request(round % texts.length));
      t.equal(reply.status, 200);
      await reply.arrayBuffer();
    }
    for (const [i, client] of clients.entries()) {
      client.socket.resume();
      const { body } = await client.readReply();
      const { document_results } = JSON.parse(body.toString()) as { document_results: { path: string }[] };
      t.ok(document_results[0]?.path === texts[i], `reader ${i}`);
    }
  },
);
