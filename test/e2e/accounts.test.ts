import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { freePort } from './free-port.ts';
import { createMailFolder, type HttpReply, sendRequest, TestUser } from './people.ts';
import { adminKey, TestServer } from './server.ts';
import { joinSharedServer } from './shared-server.ts';

/** Sign-in by a mailed link, by the link of the operator, and by the password of the administrator. */

const cli = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'src', 'cli', 'main.js');
const run = promisify(execFile);

t.setTimeout(testFileMsMax);

const json = { accept: 'application/json' };
const cookieOf = ({ headers }: HttpReply) => (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
const whoAmI = ({ url }: TestServer, headers: Record<string, string>) =>
  sendRequest(`${url}/api/users/get-user`, { headers, body: {} });

const password = 'correct horse battery staple';

/** Hash of the password `correct horse battery staple`, made with the command line. */
async function hashPassword(): Promise<string> {
  const hashing = run('env', ['-u', 'NODE_OPTIONS', process.execPath, cli, 'hash-password']);
  hashing.child.stdin?.end(`${password}\n`);
  return (await hashing).stdout.trim();
}

const { url: mailUrl, mails } = createMailFolder(t);
const mailingServer = await TestServer.start(t, { MAIL_URL: mailUrl });
const { server: plainServer } = await joinSharedServer();
const passwordHash = await hashPassword();
const server = await TestServer.start(t, { ADMIN_PASSWORD_HASH: passwordHash, MAIL_URL: 'console:' });

/** User of the server that sends mails who has requested a sign-in link, and the browser that requested it. */
async function requestSignInLink(email: string) {
  const user = new TestUser(email, mailingServer, mails);
  const requestLink = (redirect_url?: string) =>
    sendRequest(`${mailingServer.url}/api/auth/magic-link/send`, { body: { email, redirect_url } });
  const sent = await requestLink('/docs?x=1#y');
  return { user, sent, requestLink, link: await user.link(), browser: cookieOf(sent) };
}

t.test('a request for a sign-in link sends one mail a minute', async (t) => {
  const { user, sent, requestLink } = await requestSignInLink('ben@example.com');
  t.match(sent, { status: 200, body: { message: /a sign-in link was sent/ } });
  t.match(
    sent.headers.get('set-cookie') ?? '',
    /^sign-in=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
  );
  t.match(await requestLink(), { status: 200 }, 'an immediate repeated request gets the same reply');
  t.equal(
    mails().filter((mail) => mail.includes(`To: ${user.email}`) && mail.includes('Sign in to Quarry')).length,
    1,
    'a repeated request sends no second mail',
  );
});

t.test('the session of a browser works only in requests from pages of the server', async (t) => {
  const { user, link, browser } = await requestSignInLink('cem@example.com');
  const cookie = cookieOf(await sendRequest(link, { method: 'GET', headers: { cookie: browser } }));
  const own = { cookie, origin: mailingServer.url };
  t.match(await whoAmI(mailingServer, own), { status: 200, body: { user: { email: user.email } } });
  for (const site of ['same-origin', 'none'])
    t.match(await whoAmI(mailingServer, { cookie, 'sec-fetch-site': site }), { status: 200 });
  for (const foreign of [
    {},
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none', origin: 'https://evil.example' },
  ])
    t.match(await whoAmI(mailingServer, { cookie, ...foreign }), { status: 403 }, JSON.stringify(foreign));
  t.match(
    await sendRequest(`${mailingServer.url}/api/users/get-user`, {
      headers: { ...own, 'content-type': 'text/plain' },
      body: '{}',
    }),
    { status: 403 },
    'a content type that HTML forms can send is rejected',
  );
  const oversized = `x=${'y'.repeat(9_000)}; ${cookie}`;
  t.match(await whoAmI(mailingServer, { ...own, cookie: oversized }), { status: 401 });
});

// After the others: failed attempts delay later ones from the same address.
t.test(
  'a sign-in link works once: directly in the requesting browser, after confirmation in another',
  async (t) => {
    const { link, browser } = await requestSignInLink('ann@example.com');
    const headRequest = { method: 'HEAD', headers: { cookie: browser, ...json } };
    t.match(await sendRequest(link, headRequest), { status: 405 }, 'a HEAD request does not use the link');

    const page = await sendRequest(link, { method: 'GET' });
    t.equal(page.status, 200, 'a GET request of another browser gets a confirmation page');
    t.match(page.text, /<strong>a…n@example\.com<\/strong>/);
    t.match(
      page.headers.get('content-security-policy'),
      /default-src 'none'.*form-action 'self'; frame-ancestors 'none'/,
    );
    t.equal(page.headers.get('referrer-policy'), 'no-referrer');
    t.equal(page.headers.get('cache-control'), 'no-store');
    const field = (name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(page.text)?.[1] ?? '';
    const form = new URLSearchParams({
      token: field('token'),
      confirmation: field('confirmation'),
    }).toString();
    const confirm = (headers: Record<string, string>) =>
      sendRequest(`${mailingServer.url}/api/auth/magic-link/verify`, {
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: form,
      });
    t.match(await confirm({}), { status: 400 }, 'the form without the cookie of its page is rejected');

    const attempts = await Promise.all(
      Array.from({ length: 20 }, () => sendRequest(link, { method: 'GET', headers: { cookie: browser } })),
    );
    const won = attempts.filter(({ status }) => status === 302);
    t.equal(won.length, 1, 'one of 20 concurrent requests signs in');
    for (const { status, body } of attempts)
      if (status !== 302) t.match([status, body], [400, { detail: /invalid or has expired/ }]);
    t.equal(won[0]!.headers.get('location'), '/docs?x=1#y');
    t.match(
      won[0]!.headers.get('set-cookie') ?? '',
      /^session=zes_[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/,
    );
    t.match(await confirm({ cookie: cookieOf(page) }), { status: 400 }, 'a used link cannot be confirmed');
  },
);

t.test('the operator signs in with the link that the server prints or that login-link creates', async (t) => {
  const printed = /http:\S+verify\?token=\S+/.exec(plainServer.printedText)?.[0] ?? '';
  const { stdout } = await run('env', [
    '-u',
    'NODE_OPTIONS',
    process.execPath,
    cli,
    'login-link',
    '--data',
    plainServer.data,
    '--url',
    plainServer.url,
  ]);
  t.match(
    await sendRequest(printed, { method: 'GET', headers: json }),
    { status: 400 },
    'a newer link invalidates the older one',
  );
  const page = await sendRequest(stdout.trim(), { method: 'GET' });
  t.match(page.text, /the operator of this server/);
  const answer = await sendRequest(stdout.trim(), { method: 'GET', headers: json });
  t.match(answer, { status: 200, body: { user: { email: 'operator@localhost' } } });
  const headers = { authorization: `Bearer ${answer.body.access_token}` };
  const { body } = await sendRequest(`${plainServer.url}/api/users/get-user`, { headers, body: {} });
  // Other files that share the server may add organizations of the operator.
  const isFirst = ({ name }: { name: string }) => name === 'default';
  const first = body.organizations.filter(isFirst);
  t.match(first, [{ permission: 'OWNER', subscription_tier: 'enterprise' }]);
  const [{ organization_id }] = first;
  t.match(
    await sendRequest(`${plainServer.url}/api/organizations/delete-organization`, {
      headers,
      body: { organization_id },
    }),
    { status: 409 },
  );
  const invited = await sendRequest(`${plainServer.url}/api/organizations/users/invite-user`, {
    headers,
    body: { organization_id, email: 'b@example.com' },
  });
  t.match(
    invited.body,
    { invite_code: /^eyJ/, message: /does not send email/ },
    'without mail the inviting user gets the code',
  );
  t.match(
    await sendRequest(`${plainServer.url}/api/auth/magic-link/send`, { body: { email: 'b@example.com' } }),
    {
      status: 503,
      body: { detail: /QUARRY_MAIL_URL/ },
    },
  );
  t.match(
    await sendRequest(`${plainServer.url}/api/auth/magic-link/send`, {
      body: { email: 'operator@localhost' },
    }),
    { status: 422 },
    'the operator cannot be impersonated by mail',
  );
  t.match(await sendRequest(`${plainServer.url}/api/auth/login-link`, { body: { proof: 'x'.repeat(43) } }), {
    status: 401,
  });
});

const signInOptions = {
  mail: false,
  google: false,
  github: false,
  password: true,
  // A host name is required.
  passkey: false,
  administrator: false,
  resend_seconds: 60,
};
const readSignInOptions = async ({ url }: TestServer) =>
  (await sendRequest(`${url}/api/auth/options`, { method: 'GET' })).body;

function logIn({ url }: TestServer, typed: string, headers: Record<string, string> = {}) {
  return sendRequest(`${url}/api/admin/login`, { headers, body: { password: typed } });
}

function createOrganization({ url }: TestServer, organization_id: string, token: string) {
  const headers = { authorization: `Bearer ${token}` };
  return sendRequest(`${url}/v1/admin/create-organization`, { headers, body: { organization_id } });
}

t.test('over http no reply has Strict-Transport-Security', async (t) => {
  const answer = await sendRequest(`${plainServer.url}/healthz`, { method: 'GET' });
  t.equal(answer.headers.get('strict-transport-security'), null);
});

t.test('without a password in the settings the administrator cannot sign in', async (t) => {
  t.same(await readSignInOptions(plainServer), signInOptions);
  t.match(await logIn(plainServer, 'anything at all'), { status: 503 }, 'no password is set by default');
});

t.test('the administrator signs in with the password from the settings', async (t) => {
  t.match(passwordHash, /^\$argon2id\$/);
  t.same(await readSignInOptions(server), { ...signInOptions, mail: true, administrator: true });
  t.match(await logIn(server, 'wrong'), { status: 401 });
  const program = await logIn(server, password);
  t.match(program.body, { is_admin: true, access_token: /^zes_/ });
  const organization_id = randomUUID();
  t.match(await createOrganization(server, organization_id, program.body.access_token), { status: 201 });
  const headers = { authorization: `Bearer ${program.body.access_token}` };
  t.match(await whoAmI(server, headers), { status: 401 }, 'the administrator is not a user');
  t.match(
    await createOrganization(server, organization_id, adminKey),
    { status: 409 },
    'the administrator key is valid too',
  );
});

t.test(
  'another sign-in of the administrator ends the previous session, and a sign-out the last',
  async (t) => {
    const organization_id = randomUUID();
    t.match(await createOrganization(server, organization_id, adminKey), { status: 201 });
    const browser = await logIn(server, password, { origin: server.url });
    t.equal(browser.body.access_token, undefined, 'the session of a browser is not in the reply body');
    const first = { cookie: cookieOf(browser), origin: server.url };
    const listStatus = async (headers: Record<string, string>) =>
      (await sendRequest(`${server.url}/v1/admin/list-api-keys`, { headers, body: { organization_id } }))
        .status;
    t.equal(await listStatus(first), 200);
    const cookie = cookieOf(await logIn(server, password, first));
    const own = { cookie, origin: server.url };
    t.same(
      [await listStatus(own), await listStatus(first)],
      [200, 401],
      'another sign-in ends the previous session',
    );

    const link = /https?:\S+verify\?token=\S+/.exec(server.printedText)?.[0] ?? 'no link';
    const user = await sendRequest(link, { method: 'GET', headers: json });
    const asUser = { authorization: `Bearer ${user.body.access_token}`, origin: server.url };
    const isReported = async (headers: Record<string, string>) =>
      (await whoAmI(server, headers)).body.administrator_signed_in;
    t.equal(await isReported({ ...asUser, cookie }), true, 'get-user reports the administrator session');
    t.equal(await isReported({ ...asUser, cookie: 'admin=zes_guessed' }), false);
    t.equal(await isReported(asUser), false);
    const out = await sendRequest(`${server.url}/api/admin/logout`, { headers: own, body: {} });
    t.match([out.body, out.headers.get('set-cookie')], [{ is_admin: false }, /^admin=; Path=\/; Max-Age=0/]);
    t.equal(await isReported({ ...asUser, cookie }), false);
    t.equal(await listStatus(own), 401);
  },
);

t.test('after wrong passwords the right one is delayed as well', async (t) => {
  for (let i = 0; i < 3; i += 1) t.match(await logIn(server, 'wrong'), { status: 401 });
  const late = await logIn(server, password);
  t.match(
    [late.status, late.headers.get('retry-after')],
    [429, /^\d+$/],
    'the right password is delayed too',
  );
});

t.test('a server with a public address warns at startup if it prints sign-in links', async (t) => {
  const warning = /"level":40.*QUARRY_MAIL_URL=console: prints sign-in links/;
  t.notMatch(server.fullLog, warning, 'a server on a loopback address may print sign-in links');
  await server.restart({ BASE_URL: 'https://quarry.example.com', PORT: String(await freePort()) });
  t.match(server.fullLog, warning, 'a server with a public address warns at startup');
});
