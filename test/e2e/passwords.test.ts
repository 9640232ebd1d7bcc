import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { SoftwareAuthenticator } from '../support/software-authenticator.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { publicBase } from './account-server.ts';
import { InvitationServer, withToken } from './invitation-server.ts';
import { oneTimeCode } from './one-time-code.ts';
import { createMailFolder, type HttpReply, sendRequest, TestUser } from './people.ts';

/** Accounts on a server without mail and identity providers: joining, signing in, changing and losing a password. */

t.setTimeout(testFileMsMax);

const strong = 'seven quiet lamps under rain';
const other = 'a kettle sings for nine owls';
const { url: mailUrl, mails } = createMailFolder(t);
const host = await InvitationServer.start(t);
const { server, operator, organizationId: organization_id } = host;
const fromNewHost = () => host.fromNewHost();
const post = (path: string, body: unknown, headers = fromNewHost()) => host.post(path, body, headers);
const call = (token: string, path: string, body: unknown = {}) => host.call(token, path, body);
const administer = (operation: string, body: unknown) => host.administer(operation, body);
const signIn = (email: string, password: string, headers?: Record<string, string>) =>
  post('auth/password/sign-in', { email, password }, headers);
const getUser = async (token: string): Promise<HttpReply> => call(token, 'users/get-user');
const invite = (email: string, from?: string, organization?: string) =>
  host.invite(email, from, organization);

async function joined(name: string): Promise<{ email: string; token: string; userId: string }> {
  const email = `${name}@example.com`;
  const reply = await post('auth/password/join', { invite_code: await invite(email), password: strong });
  t.match(reply, { status: 200 }, reply.text);
  return { email, token: reply.body.access_token, userId: reply.body.user.id };
}

await t.test('an invited user chooses a password, is a member, and can sign in again', async (t) => {
  t.match((await sendRequest(`${server.url}/api/auth/options`, { method: 'GET' })).body, { password: true });
  const invite_code = await invite('ada@example.com');
  for (const [password, reason] of [
    ['short', /too weak: .*12/],
    ['password123456', /too weak/],
  ] as const) {
    const weak = await post('auth/password/join', { invite_code, password });
    t.match(weak, { status: 400, body: { detail: reason } });
  }
  const users = (await administer('list-users', { email: 'ada@example.com' })).body.users;
  t.same(users, [], 'a weak password changes nothing');
  const reply = await post('auth/password/join', { invite_code, password: strong, name: 'Ada' });
  t.match(reply.body, {
    access_token: /^zes_/,
    redirect_url: '/app/',
    user: { email: 'ada@example.com', name: 'Ada', email_verified: false },
  });
  t.match((await getUser(reply.body.access_token)).body, {
    has_password: true,
    organizations: [{ organization_id, permission: 'MEMBER' }],
  });
  t.match(await post('auth/password/join', { invite_code, password: other }), { status: 404 }, 'used');
  t.match(await signIn(' ADA@example.com'.trim(), strong), { status: 200 });
});

await t.test('invalid invitations create no account, and an existing account is kept', async (t) => {
  const deleted = await invite('bob@example.com');
  const revoke = { organization_id, email: 'bob@example.com' };
  t.match(await call(operator, 'organizations/users/delete-invite-user', revoke), { status: 200 });
  for (const invite_code of [deleted, 'eyJ.x.y', ''])
    t.match(await post('auth/password/join', { invite_code, password: strong }), { status: 404 });
  const { email, token } = await joined('carl');
  const second = await call(operator, 'organizations/add-organization', { name: 'Second' });
  const secondId: string = second.body.organization_id;
  const invite_code = await invite(email, operator, secondId);
  t.match(await post('auth/password/join', { invite_code, password: other }), {
    status: 409,
    body: { detail: /already has an account/ },
  });
  t.match(await signIn(email, strong), { status: 200 }, 'the password is still the first one');
  t.same((await getUser(token)).body.invitations, [], 'an unverified address shows no invitations');
  const accepted = await call(token, 'organizations/users/accept-invite', { invite_code });
  t.match(accepted, { status: 200, body: { organization_id: secondId } }, 'the code itself is accepted');
});

await t.test('a wrong password and an unknown address get the same reply and delay one client', async (t) => {
  const { email } = await joined('dora');
  const from = fromNewHost();
  const wrong = await signIn(email, other, from);
  const unknown = await signIn('unknown@example.com', other);
  const operatorTry = await signIn('operator@example.com', other);
  for (const reply of [wrong, unknown, operatorTry])
    t.match(reply, { status: 401, text: '{"detail":"The email address or the password is wrong."}' });
  const delayed: number[] = [];
  for (let i = 0; i < 6; i += 1) delayed.push((await signIn(email, other, from)).status);
  t.ok(delayed.includes(429), 'further attempts of this client are delayed');
  t.match(await signIn(email, strong), { status: 200 }, 'the owner at another address is not');
});

await t.test('a change needs the current password and ends the other sessions', async (t) => {
  const { email, token } = await joined('eve');
  const elsewhere = (await signIn(email, strong)).body.access_token;
  for (const request of [
    { password: other },
    { password: other, current_password: 'wrong' },
    { password: 'weak', current_password: strong },
  ])
    t.match(await call(token, 'users/set-password', request), { status: 400 });
  t.match(await getUser(elsewhere), { status: 200 });
  const change = { password: other, current_password: strong };
  t.match(await call(token, 'users/set-password', change), { status: 200 });
  t.match(await getUser(token), { status: 200 });
  t.match(await getUser(elsewhere), { status: 401 });
  t.match(await signIn(email, strong), { status: 401 });
  t.match(await signIn(email, other), { status: 200 });
  t.match(await call(operator, 'users/set-password', { password: other }), { status: 400 });
});

await t.test('a link of the administrator works once and ends all sessions', async (t) => {
  const { email, token, userId } = await joined('fay');
  const { url } = (await administer('create-password-link', { user_id: userId })).body;
  t.match(url, /\/app\/password#[\w-]+$/);
  const link: string = url.split('#')[1];
  t.match(await post('auth/password/reset', { token: link, password: 'weak' }), { status: 400 });
  const [one, two] = await Promise.all(
    [other, strong].map((password) => post('auth/password/reset', { token: link, password })),
  );
  t.same([one!.status, two!.status].sort(), [200, 400], 'concurrent uses do not both succeed');
  t.match(await getUser(token), { status: 401 });
  t.match(await signIn(email, one!.status === 200 ? other : strong), { status: 200 });
  t.match(await post('auth/password/reset', { token: 'x', password: strong }), { status: 400 });
  const unknown = { user_id: '00000000-0000-4000-8000-000000000000' };
  t.match(await administer('create-password-link', unknown), { status: 404 });
  const operatorId = (await getUser(operator)).body.user.id;
  t.match(await administer('create-password-link', { user_id: operatorId }), { status: 400 });
});

await t.test('disabled and deleted users cannot sign in', async (t) => {
  const { email, userId } = await joined('gus');
  t.match(await administer('disable-user', { user_id: userId }), { status: 200 });
  t.match(await signIn(email, strong), { status: 403 });
  t.match(
    await signIn(email, other),
    { status: 401 },
    'a wrong password does not reveal that the user is disabled',
  );
  t.match(await administer('delete-user', { user_id: userId }), { status: 200 });
  t.match(await signIn(email, strong), { status: 401 });
});

/** User with a second factor. */
async function enrolled(name: string) {
  const user = await joined(name);
  const { secret } = (await call(user.token, 'users/begin-second-factor')).body;
  const code = oneTimeCode(secret, Date.now());
  const confirmed = await call(user.token, 'users/confirm-second-factor', { code });
  t.match(confirmed, { status: 200 });
  return { ...user, recovery: confirmed.body.recovery_codes as string[] };
}

await t.test('a second factor is required after the password', async (t) => {
  const { email, recovery } = await enrolled('hal');
  const first = await signIn(email, strong);
  t.match(first.body, { second_factor_required: true, redirect_url: '/app/second-factor' });
  t.notHas(first.body, { access_token: String });
  const { second_factor_token } = first.body;
  const finish = (code: string) => post('auth/second-factor', { code, second_factor_token });
  t.match(await finish('000000'), { status: 401 });
  t.match(await finish(recovery[0]!), { status: 200, body: { access_token: /^zes_/ } });
  const browser = { ...fromNewHost(), 'sec-fetch-site': 'same-origin', origin: server.url };
  const inBrowser = await signIn(email, strong, browser);
  t.notHas(inBrowser.body, { second_factor_token: String }, 'a browser has it in a cookie');
  t.match(inBrowser.headers.get('set-cookie'), /second-factor=.*HttpOnly/);
});

await t.test('a browser gets a cookie that its scripts cannot read', async (t) => {
  const { email } = await joined('ida');
  const browser = { ...fromNewHost(), 'sec-fetch-site': 'same-origin', origin: server.url };
  const reply = await signIn(email, strong, browser);
  t.notHas(reply.body, { access_token: String });
  t.match(reply.headers.get('set-cookie'), /session=zes_.*HttpOnly/);
  const foreign = { ...fromNewHost(), 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
  t.match(await signIn(email, strong, foreign), { status: 403 });
});

/** Authenticator of visitors who reach the server by its public name, through the proxy. */
const authenticator = new SoftwareAuthenticator(publicBase);
const fromPublicHost = (token?: string) => ({
  ...fromNewHost(),
  'x-forwarded-host': new URL(publicBase).host,
  'x-forwarded-proto': 'https',
  ...(token === undefined ? {} : withToken(token)),
});

async function addPasskey(token: string): Promise<HttpReply> {
  const begun = await post('users/begin-passkey', {}, fromPublicHost(token));
  const { options, passkey_token } = begun.body;
  const request = { passkey_token, credential: authenticator.create(options), name: 'Key' };
  return post('users/add-passkey', request, fromPublicHost(token));
}

async function signInWithPasskey(): Promise<HttpReply> {
  const { options, passkey_token } = (await post('auth/passkey/begin', {}, fromPublicHost())).body;
  const credential = authenticator.sign(options);
  return post('auth/passkey/sign-in', { passkey_token, credential }, fromPublicHost());
}

await t.test('behind a proxy the host of passkeys is that of the visitor', async (t) => {
  t.match(await addPasskey(operator), { status: 200 });
  t.match(await signInWithPasskey(), { status: 200, body: { user: { email: 'operator@localhost' } } });
  const { email, token } = await joined('lea');
  t.match(await addPasskey(token), { status: 200 });
  t.match(await signInWithPasskey(), { status: 200, body: { user: { email, email_verified: false } } });
  t.same(mails(), []);
});

/** Bytes of all files of the data directory. */
function readData(folder: string): Buffer {
  const parts = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .map((path) => readFileSync(path));
  return Buffer.concat(parts);
}

await t.test('no password is stored or logged in plain text', async (t) => {
  for (const password of [strong, other]) {
    t.equal(readData(server.data).indexOf(password), -1);
    t.notOk(server.fullLog.includes(password));
  }
});

await t.test(
  'the first sign-in by mail removes the password, second factor and sessions of an unverified account',
  async (t) => {
    const { email, token } = await enrolled('jan');
    await server.restart({ MAIL_URL: mailUrl });
    const owner = new TestUser(email, server, mails);
    owner.headers = fromNewHost();
    t.match(await owner.signIn(), { status: 200 }, 'without the second factor of the other person');
    t.match((await getUser(owner.token)).body, { has_password: false, user: { email_verified: true } });
    t.match(await getUser(token), { status: 401 });
    t.match(await signIn(email, strong), { status: 401 });
    t.match(await call(owner.token, 'users/set-password', { password: other }), { status: 200 });
    t.match(await owner.findMail('password'), /password of your Quarry account was set or changed/);
    t.match(await signIn(email, other), { status: 200 });
  },
);

await t.test('the owner of an address removes passkeys of another person', async (t) => {
  const owner = new TestUser('lea@example.com', server, mails);
  owner.headers = fromNewHost();
  t.match(await owner.signIn(), { status: 200 });
  t.match((await owner.call('users/list-passkeys')).body, { passkeys: [] });
  t.match(await signInWithPasskey(), { status: 401 });
});

await t.test('an invitation that arrived by mail verifies the address', async (t) => {
  const email = 'kim@example.com';
  t.equal(await invite(email), undefined, 'the reply has no code');
  const invite_code = await new TestUser(email, server, mails).findInviteCode();
  const reply = await post('auth/password/join', { invite_code, password: strong });
  t.match(reply.body, { user: { email_verified: true } });
});

await t.test('passwords can be disabled', async (t) => {
  await server.restart({ PASSWORD_SIGN_IN: 'off' });
  t.match((await sendRequest(`${server.url}/api/auth/options`, { method: 'GET' })).body, { password: false });
  t.match(await signIn('kim@example.com', strong), {
    status: 503,
    body: { detail: /QUARRY_PASSWORD_SIGN_IN/ },
  });
  const request = { invite_code: 'x', password: strong };
  t.match(await post('auth/password/join', request), { status: 503 });
});
