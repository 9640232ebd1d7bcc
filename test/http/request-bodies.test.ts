import { AppError } from '../../src/core/app-error.ts';
import { testEventMsMax } from '../timeouts.ts';
import { post } from './fake-services.ts';
import { sleep } from './raw-client.ts';
import { addPath, serverContract } from './server-contract.ts';

/** Contract of both HTTP servers: request bodies, read within their limits or rejected unread. */

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
    t.equal((await send(limit)).status, 422, 'a body at the limit is read');
  },
);

serverContract('a client that sends its whole oversized body receives the rejection', async ({ t, open }) => {
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

serverContract('a client that stops in the middle of its body gets 408', async ({ t, open, connect }) => {
  const client = await connect(await open({ settings: { bodyIdleMsMax: 100 } }));
  client.sendHead('POST', addPath, { 'content-length': '1000' });
  client.send('{');
  const reply = await client.readReply();
  t.equal(reply.status, 408);
  await client.waitForEnd();
});
