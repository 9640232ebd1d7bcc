import { request } from 'node:http';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { sendRequest } from './people.ts';
import { joinSharedServer } from './shared-server.ts';

/** Host names of passkeys without a proxy; `passwords.test.ts` has one. */

t.setTimeout(testFileMsMax);

await t.test('passkeys need a host name that the client does not choose', async (t) => {
  const { server: local } = await joinSharedServer();
  const { port } = new URL(local.url);
  const isOffered = async (url: string) =>
    (await sendRequest(`${url}/api/auth/options`, { method: 'GET' })).body.passkey;
  const begin = (url: string) => sendRequest(`${url}/api/auth/passkey/begin`, { body: {} });
  t.equal(await isOffered(local.url), false, 'an IP address');
  t.match(await begin(local.url), { status: 503, body: { detail: /host name and https/ } });
  const byName = `http://localhost:${port}`;
  t.equal(await isOffered(byName), true);
  t.match(await begin(byName), { status: 200, body: { options: { rpId: 'localhost' } } });
  t.equal(await statusWithHost(local.url, 'quarry.example.com'), 503, 'a Host of the client');
  t.equal(await statusWithHost(local.url, `[::1]:${port}`), 503, 'an IPv6 address');
});

/** Status of a request for a challenge with this `Host`, which `fetch` would not send. */
function statusWithHost(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { host, 'content-type': 'application/json' };
    const sent = request(`${url}/api/auth/passkey/begin`, { method: 'POST', headers }, (reply) => {
      reply.resume();
      resolve(reply.statusCode);
    });
    sent.on('error', reject);
    sent.end('{}');
  });
}
