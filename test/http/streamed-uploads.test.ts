import { once } from 'node:events';
import type { UploadParameters } from '../../src/schemas/documents.ts';
import { sleep, waitUntil } from './raw-client.ts';
import { createGate, megabyte, serverContract } from './server-contract.ts';

/** Contract of both HTTP servers: uploads, whose bodies are streamed to the service. */

serverContract(
  'an upload that expects 100 Continue gets it and is answered',
  async ({ t, open, connect }) => {
    const client = await connect(await open());
    client.sendHead('PUT', '/v1/documents/c/p', { 'content-length': '5', expect: '100-continue' });
    t.equal((await client.readReply()).status, 100);
    client.send('hello');
    t.equal((await client.readReply()).status, 201);
  },
);

serverContract(
  'an upload whose client disconnects ends with an error, not with a partial file',
  async ({ t, open, connect }) => {
    let outcome = 'none';
    let hasBegun = false;
    const server = await open({
      services: {
        uploadDocument: async (_call, _parameters, body) => {
          try {
            for await (const _ of body) hasBegun = true;
            outcome = 'complete';
          } catch (error) {
            outcome = (error as Error).name;
            throw error;
          }
          return { status: 201, body: {} };
        },
      },
    });
    const client = await connect(server);
    client.sendHead('PUT', '/v1/documents/c/p', { 'content-length': '1000000' });
    client.send('x'.repeat(100_000));
    await waitUntil(() => hasBegun);
    client.close();
    await waitUntil(() => outcome !== 'none');
    t.equal(outcome, 'ClientDisconnectedError');
  },
);

serverContract('a fast upload waits for a slow disk, not in memory', async ({ t, open, connect }) => {
  const { opened, open: release } = createGate();
  let bytes = 0;
  const server = await open({
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
  const client = await connect(server);
  client.sendHead('PUT', '/v1/documents/c/p', { 'content-length': String(size) });
  const chunk = Buffer.alloc(megabyte);
  let sent = 0;
  const sending = (async () => {
    for (; sent < size; sent += chunk.length) if (!client.send(chunk)) await once(client.socket, 'drain');
  })();
  await sleep(300);
  t.ok(sent < size / 2, `only ${sent} bytes left the client while the disk was stalled`);
  release();
  await sending;
  t.equal((await client.readReply()).status, 201);
  t.equal(bytes, size);
});

serverContract('a reply that takes longer than the idle timeout arrives', async ({ t, open }) => {
  const idleMs = 14_000;
  const server = await open({
    services: {
      uploadDocument: async (_call, _parameters, body) => {
        for await (const chunk of body) if (chunk.byteLength > 0) await sleep(1);
        await sleep(idleMs);
        return { status: 201, body: {} };
      },
    },
  });
  const statuses = await Promise.all(
    [1_000, 1.2 * megabyte, 1.5 * megabyte, 2 * megabyte, 5 * megabyte].map(async (bytes) => {
      const reply = await fetch(`${server.url}/v1/documents/c/p?wait=true`, {
        method: 'PUT',
        headers: { authorization: 'Bearer all' },
        body: Buffer.alloc(Math.floor(bytes)),
      });
      return reply.status;
    }),
  );
  t.same(statuses, [201, 201, 201, 201, 201]);
});

serverContract(
  'a raw upload takes its path, metadata and options from URL and headers',
  async ({ t, open }) => {
    const uploads: { parameters: UploadParameters; bytes: number }[] = [];
    const server = await open({
      services: {
        uploadDocument: async (_call, parameters, body) => {
          let bytes = 0;
          for await (const chunk of body) bytes += chunk.byteLength;
          uploads.push({ parameters, bytes });
          return { status: 201, body: { message: 'Success!', index_status: 'indexed' } };
        },
      },
    });
    const metadata = Buffer.from(JSON.stringify({ author: 'Ädä' })).toString('base64url');
    const reply = await fetch(
      `${server.url}/v1/documents/my%20c/a%2Fb/c%20%C3%BC.pdf?overwrite=true&wait=true`,
      {
        method: 'PUT',
        headers: { authorization: 'Bearer all', 'x-quarry-metadata': metadata },
        body: Buffer.alloc(5 * megabyte),
      },
    );
    t.equal(reply.status, 201);
    t.same(await reply.json(), { message: 'Success!', index_status: 'indexed' });
    t.same(uploads, [
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
  },
);

serverContract('a form streams its file, after its fields', async ({ t, open }) => {
  const uploads: { parameters: UploadParameters; bytes: number }[] = [];
  const server = await open({
    services: {
      uploadDocument: async (_call, parameters, body) => {
        let bytes = 0;
        for await (const chunk of body) bytes += chunk.byteLength;
        uploads.push({ parameters, bytes });
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
    fetch(`${server.url}/v1/documents/upload`, {
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
  t.same(uploads, [{ parameters, bytes: 3 * megabyte }]);
  form.append('late', 'x');
  const late = await send(form);
  t.equal(late.status, 422);
  t.match(await late.json(), { detail: [{ msg: /"late" comes after the file/ }] });
  t.equal(uploads.length, 1, 'the service did not receive a complete file');
});

serverContract('a form that ends inside its file is rejected', async ({ t, open, connect }) => {
  let complete = false;
  const server = await open({
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
  const client = await connect(server);
  client.sendHead('POST', '/documents/upload', {
    'content-type': 'multipart/form-data; boundary=b',
    'content-length': String(body.length),
  });
  client.send(body);
  t.equal((await client.readReply()).status, 422);
  t.equal(complete, false);
});

serverContract(
  'headers as long as the largest metadata are accepted, longer ones are rejected',
  async ({ t, open, connect }) => {
    const server = await open();
    const client = await connect(server);
    const metadata = Buffer.from(JSON.stringify({ a: 'x'.repeat(65_500) })).toString('base64url');
    client.sendHead('PUT', '/v1/documents/c/p', { 'content-length': '0', 'x-quarry-metadata': metadata });
    t.equal((await client.readReply()).status, 201);
    const other = await connect(server);
    other.sendHead('PUT', '/v1/documents/c/p', {
      'content-length': '0',
      'x-quarry-metadata': 'x'.repeat(200_000),
    });
    t.equal((await other.readReply()).status, 431);
    await other.waitForEnd();
  },
);
