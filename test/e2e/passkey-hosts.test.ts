import { request } from 'node:http';
import { SoftwareAuthenticator } from '../support/software-authenticator.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { publicBase } from './account-server.ts';
import { createMailFolder, sendRequest, TestUser } from './people.ts';
import { TestServer } from './server.ts';
import { joinSharedServer } from './shared-server.ts';

/** Host names of passkeys: QUARRY_BASE_URL, a trusted proxy, or localhost. */

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

const strong = 'seven quiet lamps under rain';

await t.test(
  'behind a proxy the host is that of the visitor, and the owner of an address removes passkeys of another person',
  async (t) => {
    const { url: MAIL_URL, mails } = createMailFolder(t);
    const server = await TestServer.start(t, { TRUST_PROXY: 'true' });
    const forwarded = {
      'x-forwarded-for': '10.2.0.1',
      'x-forwarded-host': 'quarry.example.com',
      'x-forwarded-proto': 'https',
    };
    const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
      sendRequest(`${server.url}/api/${path}`, { body, headers: { ...forwarded, ...headers } });
    const link = /\S+verify\?token=\S+/.exec(server.printedText)?.[0] ?? '';
    const accept = { accept: 'application/json' };
    const operator = (await sendRequest(link, { method: 'GET', headers: accept })).body.access_token;
    const asOperator = { authorization: `Bearer ${operator}` };
    const { organization_id } = (await post('users/get-user', {}, asOperator)).body.organizations[0];
    const authenticator = new SoftwareAuthenticator(publicBase);
    const addTo = async (authorization: string) => {
      const { options, passkey_token } = (await post('users/begin-passkey', {}, { authorization })).body;
      const credential = authenticator.create(options);
      return post('users/add-passkey', { passkey_token, credential, name: 'Key' }, { authorization });
    };
    const signIn = async () => {
      const { options, passkey_token } = (await post('auth/passkey/begin', {})).body;
      return post('auth/passkey/sign-in', { passkey_token, credential: authenticator.sign(options) });
    };
    t.match(await addTo(`Bearer ${operator}`), { status: 200 });
    t.match(await signIn(), { status: 200, body: { user: { email: 'operator@localhost' } } });

    const email = 'jan@example.com';
    const invited = await post('organizations/users/invite-user', { organization_id, email }, asOperator);
    const { invite_code } = invited.body;
    const { access_token } = (await post('auth/password/join', { invite_code, password: strong })).body;
    t.match(await addTo(`Bearer ${access_token}`), { status: 200 });
    t.match(await signIn(), { status: 200, body: { user: { email, email_verified: false } } });
    t.same(mails(), []);

    await server.restart({ MAIL_URL });
    const owner = new TestUser(email, server, mails);
    owner.headers = { 'x-forwarded-for': '10.2.0.2' };
    t.match(await owner.signIn(), { status: 200 });
    t.match((await owner.call('users/list-passkeys')).body, { passkeys: [] });
    t.match(await signIn(), { status: 401 });
  },
);
