import { listPath, serverContract } from './server-contract.ts';

/** Replies to pages of other sites, on both servers. */

const site = 'https://www.example.com';

serverContract(
  'a preflight request needs no key, and its reply has no body',
  async ({ t, open, connect }) => {
    const server = await open();
    const client = await connect(server);
    const preflight = (origin: string, names: string) =>
      client.send(
        `OPTIONS ${listPath} HTTP/1.1\r\nhost: test\r\norigin: ${origin}\r\n` +
          `access-control-request-method: POST\r\naccess-control-request-headers: ${names}\r\n\r\n`,
      );
    preflight(site, 'authorization, x-client');
    const allowed = await client.readReply();
    t.equal(allowed.status, 200);
    t.equal(allowed.body.length, 0);
    t.equal(allowed.headers.get('access-control-allow-origin'), site);
    t.equal(allowed.headers.get('access-control-allow-headers'), 'authorization, x-client');
    client.sendHead('OPTIONS', listPath);
    t.equal((await client.readReply()).status, 405, 'OPTIONS of another program is no preflight request');
  },
);

serverContract('only the origins of the key can read its replies', async ({ t, open, connect }) => {
  const organizationId = '00000000-0000-4000-8000-000000000001';
  const key = {
    kind: 'organization',
    organizationId,
    keyId: organizationId,
    permission: 'all',
    zdr: false,
  } as const;
  const server = await open({
    authenticator: { authenticate: () => ({ ...key, allowedOrigins: [site] }) },
  });
  const client = await connect(server);
  for (const [origin, expected] of [
    [site, site],
    ['https://other.example.com', undefined],
    ['null', undefined],
  ] as const) {
    client.sendHead('POST', listPath, { origin, 'content-length': '0' });
    const reply = await client.readReply();
    t.equal(reply.status, 200);
    t.equal(reply.headers.get('access-control-allow-origin'), expected, origin);
    t.equal(reply.headers.get('vary'), 'origin');
  }
});

serverContract('any page can read that its key is invalid', async ({ t, open, connect }) => {
  const client = await connect(await open());
  client.sendHead('POST', listPath, { origin: site, authorization: 'Bearer wrong', 'content-length': '0' });
  const reply = await client.readReply();
  t.equal(reply.status, 401);
  t.equal(reply.headers.get('access-control-allow-origin'), site);
});
