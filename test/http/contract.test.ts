import { post } from './fake-services.ts';
import { sleep, waitUntil } from './raw-client.ts';
import { addPath, createGate, listPath, serverContract } from './server-contract.ts';

/** Contract of both HTTP servers: connections, replies and rejections. */

serverContract('an unknown Expect header is rejected with 417', async ({ t, open, connect }) => {
  const client = await connect(await open());
  client.sendHead('POST', listPath, { expect: 'miracles', 'content-length': '0' });
  t.equal((await client.readReply()).status, 417);
});

serverContract('a call is canceled when its client disconnects', async ({ t, open, connect }) => {
  let signal: AbortSignal | undefined;
  const { opened, open: release } = createGate();
  const server = await open({
    services: {
      getCollectionList: async (call) => {
        signal = call.cancellation.signal;
        await opened;
        return { collection_names: [] };
      },
    },
  });
  const client = await connect(server);
  client.sendHead('POST', listPath, { 'content-length': '2' });
  client.send('{}');
  await waitUntil(() => signal !== undefined);
  client.close();
  await waitUntil(() => signal?.aborted === true);
  release();
  t.match(signal?.reason, { name: 'ClientDisconnectedError' });
  t.equal((await post(server, '/collections/delete-collection', { collection_name: 'c' })).status, 200);
  t.match(
    await server.metrics.text(),
    /quarry_http_requests_total\{operation="get-collection-list",status="499"\} 1/,
  );
});

serverContract('a client that does not finish its headers is disconnected', async ({ t, open, connect }) => {
  const client = await connect(await open({ bounds: { headerMsMax: 500 } }));
  client.send('POST /v1/collections/get-collection-list HTTP/1.1\r\nhost: te');
  await client.waitForEnd();
  t.pass('the connection ended');
});

serverContract(
  'an idle connection is closed, however early its reply was',
  async ({ t, kind, open, connect }) => {
    if (kind === 'node') {
      t.pass('Node.js closes idle connections after `limits.keepAliveMsMax`');
      return;
    }
    const server = await open();
    const denied = { authorization: 'Bearer wrong', 'content-length': '2' };
    const probe = await connect(server);
    const split = await connect(server);
    const stalled = await connect(server);
    probe.sendHead('GET', '/healthz');
    split.sendHead('POST', addPath, denied);
    stalled.sendHead('POST', addPath, denied);
    await sleep(20);
    split.send('{}');
    t.equal((await probe.readReply()).status, 200);
    t.equal((await split.readReply()).status, 401);
    t.equal((await stalled.readReply()).status, 401);
    // The library closes them after 10 s.
    await Promise.all([probe, split, stalled].map((client) => client.waitForEnd()));
  },
);

serverContract(
  'one connection serves many requests, including rejected ones with unread bodies',
  async ({ t, open, connect }) => {
    const client = await connect(await open());
    for (let round = 0; round < 3; round++) {
      client.sendHead('POST', listPath, { 'content-length': '0' });
      t.equal((await client.readReply()).status, 200);
      client.sendHead('POST', addPath, { authorization: 'Bearer wrong', 'content-length': '300000' });
      const refused = client.readReply();
      client.send('x'.repeat(300_000));
      t.equal((await refused).status, 401);
      client.sendHead('HEAD', '/healthz');
      t.equal((await client.readReply({ hasBody: false })).status, 200);
    }
  },
);

serverContract(
  'pipelined requests are answered in order, or the connection ends',
  async ({ t, open, connect }) => {
    const server = await open({
      services: {
        deleteCollection: async () => {
          await sleep(30);
          return {};
        },
      },
    });
    const client = await connect(server);
    const slow = '{"collection_name":"c"}';
    client.sendHead('POST', '/v1/collections/delete-collection', { 'content-length': String(slow.length) });
    client.send(slow);
    client.sendHead('GET', '/v1/nowhere');
    const statuses: number[] = [];
    try {
      for (let i = 0; i < 2; i++) statuses.push((await client.readReply()).status);
    } catch {
      // The connection ended; the replies received before that are checked below.
    }
    t.ok(['', '200', '200,404'].includes(statuses.join()), `got ${statuses.join()}`);
    t.equal((await post(server, listPath)).status, 200);
  },
);

serverContract(
  'the server answers other clients after 2,000 pipelined requests',
  async ({ t, open, connect }) => {
    const server = await open();
    const client = await connect(server);
    client.send(
      `POST ${listPath} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer all\r\ncontent-length: 0\r\n\r\n`.repeat(
        2_000,
      ),
    );
    await Promise.race([client.waitForEnd(), sleep(200)]);
    t.equal((await post(server, listPath)).status, 200);
  },
);

serverContract(
  'HEAD returns the headers of GET, with the length and without the body',
  async ({ t, open, connect }) => {
    const client = await connect(await open());
    for (const path of [
      '/docs',
      '/openapi.json',
      '/v1/documents/get-document?token=t',
      '/documents/get-page-image?token=t',
      '/nowhere',
    ]) {
      client.sendHead('GET', path);
      const get = await client.readReply();
      client.sendHead('HEAD', path);
      const head = await client.readReply({ hasBody: false });
      t.equal(head.status, get.status, path);
      t.equal(head.headers.get('content-length'), String(get.body.length), path);
      t.equal(head.headers.get('content-type'), get.headers.get('content-type'), path);
    }
  },
);

serverContract('a wrong method returns 405 and lists the allowed methods', async ({ t, open }) => {
  const server = await open();
  const cases = [
    ['GET', addPath, 'POST'],
    ['POST', '/healthz', 'GET, HEAD'],
    ['DELETE', '/v1/documents/get-document', 'GET, HEAD'],
    ['GET', '/v1/documents/c/a%2Fb', 'PUT'],
    ['OPTIONS', '/embeddings', 'POST'],
  ] as const;
  for (const [method, path, allow] of cases) {
    const reply = await fetch(`${server.url}${path}`, { method });
    t.equal(reply.status, 405, path);
    t.equal(reply.headers.get('allow'), allow, path);
    t.match(await reply.json(), { detail: String });
  }
});

serverContract('every reply carries its request id and is not cached', async ({ t, open }) => {
  const server = await open();
  for (const path of ['/healthz', '/nowhere', addPath, '/v1/documents/get-document', '/metrics', '/%ff']) {
    const reply = await fetch(`${server.url}${path}`);
    t.match(reply.headers.get('x-request-id'), /^[0-9a-f-]{36}$/, path);
    t.equal(reply.headers.get('cache-control'), 'no-store', path);
    t.equal(reply.headers.get('x-content-type-options'), 'nosniff', path);
  }
});

serverContract('a call that takes too long returns 503 and is canceled', async ({ t, open }) => {
  let signal: AbortSignal | undefined;
  const server = await open({
    settings: { requestMsMax: 50 },
    services: {
      getCollectionList: (call) => {
        signal = call.cancellation.signal;
        return new Promise(() => {});
      },
    },
  });
  const reply = await post(server, listPath);
  t.equal(reply.status, 503);
  t.ok(reply.headers.get('retry-after'));
  t.equal(signal?.aborted, true);
});

serverContract('bytes that are not HTTP close only their connection', async ({ t, open, connect }) => {
  const server = await open();
  for (const garbage of [
    '\x16\x03\x01\x02\x00\x01\x00',
    'NONSENSE\r\n\r\n',
    'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -4\r\n\r\n',
  ]) {
    const client = await connect(server);
    client.send(garbage);
    await Promise.race([client.waitForEnd(), sleep(1_500)]);
    client.close();
    t.equal((await post(server, listPath)).status, 200);
  }
});

serverContract(
  'an unexpected failure returns 500 with the request ID of the log entry',
  async ({ t, open }) => {
    const lines: Record<string, unknown>[] = [];
    const record = (fields: Readonly<Record<string, unknown>>) => void lines.push({ ...fields });
    const quiet = () => {};
    const logger = { debug: quiet, info: quiet, warn: record, error: record, child: () => logger };
    const server = await open({
      logger,
      services: {
        getCollectionList: async () => {
          throw new Error('secret words of a document');
        },
      },
    });
    const reply = await post(server, listPath);
    const { detail } = (await reply.json()) as { detail: string };
    t.equal(reply.status, 500);
    t.ok(detail.includes(reply.headers.get('x-request-id') ?? 'none'));
    t.notMatch(detail, /secret/);
    t.match(JSON.stringify(lines), /secret words/);
    lines.length = 0;
    t.equal((await post(server, listPath, {}, { authorization: 'Bearer zdr' })).status, 500);
    t.equal(lines.length, 1);
    t.notMatch(
      JSON.stringify(lines),
      /secret words/,
      'no text of an organization with zero data retention reaches the log',
    );
  },
);

serverContract(
  'an upload above the concurrency limit returns 503 with a time to retry',
  async ({ t, open, connect }) => {
    let running = 0;
    const server = await open({
      settings: { uploadsRunningMax: 2 },
      services: {
        uploadDocument: async (_call, _parameters, body) => {
          running += 1;
          for await (const _ of body);
          return { status: 201, body: {} };
        },
      },
    });
    const path = '/v1/documents/c/p';
    const slow = await Promise.all([connect(server), connect(server)]);
    for (const client of slow) {
      client.sendHead('PUT', path, { 'content-length': '2' });
      client.send('x');
    }
    await waitUntil(() => running === 2);
    const refused = await connect(server);
    refused.sendHead('PUT', path, { 'content-length': '2' });
    const reply = await refused.readReply();
    t.equal(reply.status, 503);
    t.match(reply.body.toString(), /Too many concurrent uploads/);
    for (const client of slow) {
      client.send('y');
      t.equal((await client.readReply()).status, 201);
    }
    const later = await connect(server);
    later.sendHead('PUT', path, { 'content-length': '1' });
    later.send('x');
    t.equal((await later.readReply()).status, 201, 'permits are free again');
  },
);
