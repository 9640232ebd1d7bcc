import { AppError } from '../../src/core/app-error.ts';
import { testEventMsMax } from '../timeouts.ts';
import { post } from './fake-services.ts';
import { sleep, waitUntil } from './raw-client.ts';
import { addPath, createGate, listPath, serverContract } from './server-contract.ts';

/** Contract of both HTTP servers: requests, connections, refusals and shutdown. */

serverContract(
  'a body with a too large content-length is rejected before it is sent',
  async ({ t, open, connect }) => {
    const client = await connect(await open());
    client.sendHead('POST', addPath, { 'content-length': '900000000' });
    const reply = await client.readReply();
    t.equal(reply.status, 413);
    t.match(
      reply.body.toString(),
      /"detail":"The request body is larger than the limit of 3,000,000 bytes."/,
    );
    await client.waitForEnd();
  },
);

serverContract(
  'a chunked body is rejected as soon as it is too long, while it is still arriving',
  async ({ t, open, connect }) => {
    const client = await connect(await open());
    client.sendHead('POST', addPath, { 'transfer-encoding': 'chunked' });
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
    for (let i = 0; i < 50; i++) client.send(chunk);
    const reply = await client.readReply();
    t.equal(reply.status, 413);
    await client.waitForEnd();
  },
);

serverContract(
  'a chunked body that ends slightly beyond the limit is always rejected',
  async ({ t, open }) => {
    const limit = 100_000;
    const server = await open({ settings: { jsonBytesMax: limit }, bounds: { lingerMsMax: testEventMsMax } });
    const send = (bytes: number) =>
      fetch(`${server.url}${addPath}`, {
        method: 'POST',
        headers: { authorization: 'Bearer all', 'content-type': 'application/json' },
        body: new Blob([' '.repeat(bytes)]).stream(),
        duplex: 'half',
      });
    for (let i = 0; i < 20; i += 1) {
      const reply = await send(limit + 100);
      t.equal(reply.status, 413);
      t.match(await reply.json(), { detail: /limit of 100,000 bytes/ });
    }
    t.equal((await send(limit)).status, 422, 'and what just fits is read');
  },
);

serverContract('a client that sends its whole over-long body reads the refusal', async ({ t, open }) => {
  const server = await open({ bounds: { lingerMsMax: testEventMsMax } });
  const reply = await post(server, addPath, ' '.repeat(6_000_000));
  t.equal(reply.status, 413);
  t.match(await reply.json(), { detail: String });
});

serverContract('a chunked body is read like any other', async ({ t, open, connect }) => {
  const client = await connect(await open());
  client.sendHead('POST', '/collections/delete-collection', { 'transfer-encoding': 'chunked' });
  client.send('13\r\n{"collection_name":\r\n');
  await sleep(20);
  client.send('4\r\n"c"}\r\n0\r\n\r\n');
  t.equal((await client.readReply()).status, 200);
});

serverContract(
  'a forbidden upload is rejected without reading its body',
  async ({ t, kind, open, connect }) => {
    let served = false;
    const server = await open({
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
      const client = await connect(server);
      client.sendHead('PUT', '/v1/documents/c/p', {
        authorization: key,
        'content-length': '5000000',
        expect: '100-continue',
      });
      let reply = await client.readReply();
      // uWebSockets.js always sends its interim reply; the final reply is independent of it.
      if (kind === 'uws' && reply.status === 100) reply = await client.readReply();
      t.equal(reply.status, status);
      await client.waitForEnd();
    }
    t.equal(served, false);
  },
);

serverContract('an expectation nobody knows is refused', async ({ t, open, connect }) => {
  const client = await connect(await open());
  client.sendHead('POST', listPath, { expect: 'miracles', 'content-length': '0' });
  t.equal((await client.readReply()).status, 417);
});

serverContract('a call learns that its client went away', async ({ t, open, connect }) => {
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

serverContract('a client that stops in the middle of its body gets 408', async ({ t, open, connect }) => {
  const client = await connect(await open({ settings: { bodyIdleMsMax: 100 } }));
  client.sendHead('POST', addPath, { 'content-length': '1000' });
  client.send('{');
  const reply = await client.readReply();
  t.equal(reply.status, 408);
  await client.waitForEnd();
});

serverContract('a client that never finishes its headers is cut off', async ({ t, open, connect }) => {
  const client = await connect(await open({ bounds: { headerMsMax: 500 } }));
  client.send('POST /v1/collections/get-collection-list HTTP/1.1\r\nhost: te');
  await client.waitForEnd();
  t.pass('the connection ended');
});

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

serverContract('a flood of pipelined requests does no harm', async ({ t, open, connect }) => {
  const server = await open();
  const client = await connect(server);
  client.send(
    `POST ${listPath} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer all\r\ncontent-length: 0\r\n\r\n`.repeat(
      2_000,
    ),
  );
  await Promise.race([client.waitForEnd(), sleep(200)]);
  t.equal((await post(server, listPath)).status, 200);
});

serverContract(
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

serverContract('the wrong method answers 405 with those that work', async ({ t, open }) => {
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

serverContract(
  'draining lets running calls finish, answers new calls with 503, then stops listening',
  async ({ t, open, connect }) => {
    const { opened, open: release } = createGate();
    let running = false;
    const server = await open({
      services: {
        getCollectionList: async () => {
          running = true;
          await opened;
          return { collection_names: ['kept'] };
        },
      },
    });
    const idle = await connect(server);
    const slow = post(server, listPath);
    await waitUntil(() => running);
    const closed = server.close(testEventMsMax);
    const refused = await post(server, '/v1/collections/delete-collection', { collection_name: 'c' });
    t.equal(refused.status, 503);
    t.equal(refused.headers.get('retry-after'), '1');
    t.equal(refused.headers.get('retry-after-ms'), '1000');
    t.equal(refused.headers.get('connection'), 'close');
    release();
    t.same(await (await slow).json(), { collection_names: ['kept'] });
    await closed;
    await idle.waitForEnd();
    await t.rejects(fetch(`${server.url}/healthz`), 'nobody listens any more');
    await t.resolves(server.close(0), 'closing twice does no harm');
  },
);

serverContract('a call that fails because the server stops answers 503', async ({ t, open }) => {
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

serverContract('a call that takes too long answers 503 and is told to stop', async ({ t, open }) => {
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
      'no text of a zero-retention organisation reaches the log',
    );
  },
);

serverContract('uploads above the concurrency limit are told to retry', async ({ t, open, connect }) => {
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
  t.equal((await later.readReply()).status, 201, 'there is room again');
});
