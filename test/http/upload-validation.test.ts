import t, { type Test } from '../support/tap.ts';
import { post, startTestHttpServer } from './fake-services.ts';

/** Uploads and forms are checked before anything is stored. */

t.test('uploads are rejected with a reason before anything is stored', async (t) => {
  let stored = 0;
  const uploads = await startTestHttpServer('auto', {
    settings: { uploadBytesMax: 10_000 },
    services: {
      uploadDocument: async (_call, _parameters, body) => {
        for await (const _ of body);
        stored++;
        return { status: 201, body: {} };
      },
    },
  });
  t.teardown(() => uploads.close(0));
  const put = async (
    path: string,
    { headers = {}, body = 'x' }: { headers?: Record<string, string>; body?: string } = {},
  ) => {
    const reply = await fetch(`${uploads.url}${path}`, {
      method: 'PUT',
      headers: { authorization: 'Bearer all', ...headers },
      body,
    });
    return `${reply.status} ${await reply.text()}`;
  };
  const meta = (value: string) => ({ headers: { 'x-quarry-metadata': value } });
  const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  t.match(await put('/v1/documents/c/'), /^400 .*path is empty/);
  t.match(await put('/v1/documents/c/a%00'), /^400 .*NUL/);
  t.match(await put('/v1/documents/c/%ff'), /^400 .*percent-encoded/);
  t.match(await put(`/v1/documents/${'x'.repeat(1_025)}/p`), /^400 .*1,025 bytes/);
  t.match(await put('/v1/documents/c/p?overwrite=yes'), /^422 .*"loc":\["query","overwrite"\]/);
  t.match(await put('/v1/documents/c/p', meta('!!')), /^400 .*base64url/);
  t.match(await put('/v1/documents/c/p', meta('e30x')), /^400 .*JSON/);
  const latin1 = Buffer.from('{"a":"caf\xe9"}', 'latin1').toString('base64url');
  t.match(await put('/v1/documents/c/p', meta(latin1)), /^400 .*not UTF-8/);
  t.match(await put('/v1/documents/c/p', meta(base64url([]))), /^400 .*must be an object/);
  t.match(await put('/v1/documents/c/p', meta(base64url({ a: null }))), /^400 .*must be/);
  t.match(await put('/v1/documents/c/p', meta(base64url({ a: ['x'] }))), /^400 .*list:/);
  t.match(await put('/v1/documents/c/p', { body: 'x'.repeat(10_001) }), /^413 .*10,000 bytes/);
  t.equal(stored, 0);
  t.match(await put('/v1/documents/c/p', meta('e30')), /^201/);
  t.match(
    await put('/documents/get-document/info', { body: '' }),
    /^201/,
    'a collection can have the name of an operation',
  );
  t.equal(stored, 2);
});

/** Starts a server that counts the uploads that it stores. */
async function startUploadServer(t: Test) {
  const counts = { stored: 0 };
  const uploads = await startTestHttpServer('auto', {
    services: {
      uploadDocument: async (_call, _parameters, body) => {
        for await (const _ of body);
        counts.stored += 1;
        return { status: 201, body: {} };
      },
    },
  });
  t.teardown(() => uploads.close(0));
  return { uploads, counts };
}

t.test('forms are rejected with a reason before anything is stored', async (t) => {
  const { uploads, counts } = await startUploadServer(t);
  const send = async (fields: readonly (readonly [string, string])[]) => {
    const form = new FormData();
    for (const [name, value] of fields) {
      if (name === 'file') form.append(name, new Blob([value]), 'f');
      else form.append(name, value);
    }
    const reply = await fetch(`${uploads.url}/documents/upload`, {
      method: 'POST',
      headers: { authorization: 'Bearer all' },
      body: form,
    });
    return `${reply.status} ${await reply.text()}`;
  };
  const named = [
    ['collection_name', 'c'],
    ['path', 'p'],
  ] as const;
  t.match(await send([...named]), /^422 .*no field \\"file\\"/);
  t.match(
    await send([
      ['collection_name', 'c'],
      ['file', 'x'],
    ]),
    /^422 .*"loc":\["body","path"\]/,
  );
  t.match(await send([['file', 'x'], ...named]), /^422 .*collection_name/);
  t.match(await send([...named, ['wait', '1'], ['file', 'x']]), /^422 .*"loc":\["body","wait"\]/);
  t.match(await send([...named, ['metadata', '{'], ['file', 'x']]), /^400 .*JSON/);
  t.match(await send([...named, ['metadata', '{"a":null}'], ['file', 'x']]), /^400 .*metadata/);
  t.match(await send([...named, ['path', 'q'], ['file', 'x']]), /^422 .*occurs more than once/);
  t.match(await send([...named, ['file', 'x'], ['file', 'y']]), /^422 .*more than one file/);
  t.match(await send([...named, ['other', 'x'.repeat(140_000)], ['file', 'x']]), /^422 .*too long/);
  t.match(
    await send([...Array.from({ length: 20 }, (_, i) => [`f${i}`, 'x'] as const), ['file', 'x']]),
    /^422 .*more than 16 fields/,
  );
  for (const type of ['application/json', 'multipart/form-data', 'text/plain']) {
    const reply = await post(uploads, '/documents/upload', 'x', { 'content-type': type });
    t.equal(reply.status, 422, type);
    t.match(await reply.text(), /multipart\/form-data/);
  }
  t.equal(counts.stored, 0);
  t.match(await send([...named, ['file', 'x']]), /^201/);
  t.equal(counts.stored, 1);
});

t.test('a form field that is not UTF-8 is rejected', async (t) => {
  const { uploads, counts } = await startUploadServer(t);
  const latin1 = (path: string) =>
    fetch(`${uploads.url}/documents/upload`, {
      method: 'POST',
      headers: { authorization: 'Bearer all', 'content-type': 'multipart/form-data; boundary=b' },
      body: Buffer.from(
        `${[['collection_name', 'c'] as const, ['path', path] as const, ['file', 'x'] as const]
          .map(([name, value]) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
          .join('')}--b--\r\n`,
        'latin1',
      ),
    });
  const foreign = await latin1('caf\xe9');
  t.equal(foreign.status, 422, 'otherwise all paths in another encoding would be equal');
  t.match(await foreign.text(), /\\"path\\" is not UTF-8/);
  t.equal(counts.stored, 0);
  t.equal((await latin1('cafe')).status, 201);
  t.equal(counts.stored, 1);
});
