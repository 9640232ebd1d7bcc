import type { AuthenticatorBehavior } from '../support/software-authenticator.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { publicBase } from './account-server.ts';
import { freePort } from './free-port.ts';
import { InvitationServer } from './invitation-server.ts';
import { createAuthenticator } from './passkey-fixture.ts';
import { createMailFolder, sendRequest, TestUser } from './people.ts';

/** Accounts of invited users with a passkey and without a password, on a server without mail and identity providers. */

t.setTimeout(testFileMsMax);

const minuteMs = 60_000;
let aheadMs = 0;
const settings = { TRUST_PROXY: 'true', BASE_URL: publicBase, PORT: String(await freePort()) };
const host = await InvitationServer.start(t, settings, { clockOffsetMs: () => aheadMs });
const { server, operator, organizationId: organization_id } = host;
const fromNewHost = () => host.fromNewHost();
const post = (path: string, body: unknown, headers = fromNewHost()) => host.post(path, body, headers);
const call = (token: string, path: string, body: unknown = {}) => host.call(token, path, body);
const administer = (operation: string, body: unknown) => host.administer(operation, body);
const emailOf = (name: string) => `${name}@example.com`;
const invite = (name: string) => host.invite(emailOf(name));
const usersOf = async (name: string): Promise<unknown[]> =>
  (await administer('list-users', { email: emailOf(name) })).body.users;
const isAbsent = async (t: Test, name: string, reason: string) => t.same(await usersOf(name), [], reason);

/** Reply of a new authenticator to the options of an invitation, with the function that sends it. */
async function begin(invite_code: string, behavior: AuthenticatorBehavior = {}, name?: string) {
  const begun = await post('auth/passkey/begin-join', { invite_code, name });
  const { options, passkey_token } = begun.body;
  const authenticator = createAuthenticator();
  const request = { passkey_token, credential: authenticator.create(options, behavior) };
  const finish = (headers?: Record<string, string>) => post('auth/passkey/join', request, headers);
  return { options, request, authenticator, finish };
}

await t.test('an invited user joins with a passkey, signs in with it and has no password', async (t) => {
  t.match((await sendRequest(`${server.url}/api/auth/options`, { method: 'GET' })).body, { passkey: true });
  const code = await invite('ada');
  const { options, authenticator, finish } = await begin(code, {}, 'Ada');
  t.match(options, {
    rp: { id: 'quarry.example.com', name: 'Quarry' },
    user: { name: 'ada@example.com', displayName: 'Ada' },
    excludeCredentials: [],
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    attestation: 'none',
  });
  await isAbsent(t, 'ada', 'no account exists before the reply');
  const joined = await finish();
  t.match(joined, {
    status: 200,
    body: {
      access_token: /^zes_/,
      redirect_url: '/app/',
      user: { email: 'ada@example.com', name: 'Ada', email_verified: false },
    },
  });
  t.match((await call(joined.body.access_token, 'users/get-user')).body, {
    has_password: false,
    organizations: [{ organization_id, permission: 'MEMBER' }],
  });
  t.match((await call(joined.body.access_token, 'users/list-passkeys')).body, {
    passkeys: [{ name: 'Passkey', host: 'quarry.example.com', last_used_at: null }],
  });
  const begun = (await post('auth/passkey/begin', {})).body;
  const credential = authenticator.sign(begun.options);
  const signedIn = await post('auth/passkey/sign-in', { passkey_token: begun.passkey_token, credential });
  t.match(signedIn, { status: 200, body: { user: { email: 'ada@example.com' } } });

  const { id } = joined.body.user;
  const actionsIn = async (entries: Promise<{ readonly body: { readonly entries: unknown[] } }>) =>
    ((await entries).body.entries as { actor: string; action: string }[])
      .filter(({ actor }) => actor === id)
      .map(({ action }) => action);
  const actions = await actionsIn(administer('get-audit-log', {}));
  t.same(actions.sort(), ['passkey.added', 'user.created', 'user.login', 'user.login']);
  t.same(await actionsIn(call(operator, 'organizations/get-audit-log', { organization_id })), [
    'member.joined',
  ]);
});

await t.test('a browser gets a cookie that its scripts cannot read', async (t) => {
  const { finish } = await begin(await invite('bea'));
  const crossSite = { ...fromNewHost(), origin: 'https://evil.example' };
  t.match(await finish(crossSite), { status: 403 });
  const joined = await finish({ ...fromNewHost(), origin: publicBase });
  t.match(joined, { status: 200, body: { redirect_url: '/app/' } });
  t.equal(joined.body.access_token, undefined);
  t.match(joined.headers.get('set-cookie'), /^__Host-session=zes_[\w-]+; .*HttpOnly; SameSite=Lax; Secure$/);
});

await t.test(
  'an invalid reply of an authenticator creates no account and keeps the invitation',
  async (t) => {
    const code = await invite('cid');
    for (const behavior of [
      { origin: 'https://evil.example' },
      { relyingPartyId: 'evil.example' },
      { isUserVerified: false },
      { isUserPresent: false },
    ])
      t.match(await (await begin(code, behavior)).finish(), {
        status: 400,
        body: { detail: /reply of the authenticator is not valid/ },
      });
    const { request, finish } = await begin(code);
    const other = await begin(code);
    const mixed = { ...request, passkey_token: other.request.passkey_token };
    t.match(await post('auth/passkey/join', mixed), { status: 400 }, 'the reply to another challenge');
    const signInToken = (await post('auth/passkey/begin', {})).body.passkey_token;
    const ownToken = (await call(operator, 'users/begin-passkey')).body.passkey_token;
    for (const passkey_token of [signInToken, ownToken, `${request.passkey_token}x`, ''])
      t.match(await post('auth/passkey/join', { ...request, passkey_token }), {
        status: 400,
        text: /challenge/,
      });
    t.match(await post('auth/passkey/join', { ...request, credential: {} }), { status: 422 });
    await isAbsent(t, 'cid', 'no attempt created an account');
    t.match(await finish(), { status: 200 });
  },
);

await t.test('an invitation creates one account, also with concurrent replies', async (t) => {
  const code = await invite('dan');
  const [one, two] = [await begin(code), await begin(code)];
  const replies = await Promise.all([one.finish(), two.finish(), one.finish()]);
  const statuses = replies.map(({ status }) => status).sort();
  t.equal(statuses[0], 200);
  t.ok(
    statuses.slice(1).every((status) => status === 404 || status === 409),
    statuses.join(),
  );
  t.equal((await usersOf('dan')).length, 1);
  t.match(await two.finish(), { status: 404 }, 'later');
  t.match(await post('auth/passkey/begin-join', { invite_code: code }), { status: 404 }, 'used');
  const password = 'seven quiet lamps under rain';
  t.match(await post('auth/password/join', { invite_code: code, password }), { status: 404 });
});

await t.test('a challenge ends with its invitation', async (t) => {
  const deleted = await begin(await invite('eve'));
  const revoke = { organization_id, email: emailOf('eve') };
  t.match(await call(operator, 'organizations/users/delete-invite-user', revoke), { status: 200 });
  t.match(await deleted.finish(), { status: 404 });
  aheadMs += 2 * minuteMs;
  await server.syncClock();
  const again = await begin(await invite('eve'));
  t.match(await deleted.finish(), { status: 404 }, 'a new invitation of the same address');
  aheadMs += 4 * minuteMs;
  await server.syncClock();
  t.match(await again.finish(), { status: 200 });
  for (const invite_code of ['eyJ.x.y', ''])
    t.match(await post('auth/passkey/begin-join', { invite_code }), { status: 404 });
});

await t.test('a challenge expires after five minutes, the invitation does not', async (t) => {
  const code = await invite('fay');
  const late = await begin(code);
  aheadMs += 6 * minuteMs;
  await server.syncClock();
  t.match(await late.finish(), { status: 400, text: /has expired/ });
  await isAbsent(t, 'fay', 'expired');
  t.match(await (await begin(code)).finish(), { status: 200 });
});

await t.test('an address with an account, a known passkey and an invalid name are rejected', async (t) => {
  const code = await invite('gus');
  for (const name of ['a\nb', ' ', 'x'.repeat(256)])
    t.match(await post('auth/passkey/begin-join', { invite_code: code, name }), {
      status: 400,
      text: /name/,
    });
  const first = await begin(code);
  t.match(await first.finish(), { status: 200 });
  const second = await call(operator, 'organizations/add-organization', { name: 'Second' });
  const request = { organization_id: second.body.organization_id, email: emailOf('gus') };
  const invited = await call(operator, 'organizations/users/invite-user', request);
  t.match(await post('auth/passkey/begin-join', { invite_code: invited.body.invite_code }), {
    status: 409,
    body: { detail: /already has an account/ },
  });

  const begun = (await post('auth/passkey/begin-join', { invite_code: await invite('hal') })).body;
  const [known] = first.authenticator.credentials;
  const credential = createAuthenticator().create(begun.options, {}, known!.id);
  const copied = await post('auth/passkey/join', { passkey_token: begun.passkey_token, credential });
  t.match(copied, { status: 409, body: { detail: /already added/ } });
  await isAbsent(t, 'hal', 'nothing is written');
});

await t.test('one address has a limited number of requests, which sign-ins share', async (t) => {
  const headers = fromNewHost();
  const invite_code = 'eyJ.x.y';
  const statuses = new Set<number>();
  for (let i = 0; i < 120; i += 1) {
    statuses.add((await post('auth/passkey/begin-join', { invite_code }, headers)).status);
    statuses.add((await post('auth/passkey/begin', {}, headers)).status);
  }
  t.same([...statuses].sort(), [200, 404]);
  t.match(await post('auth/passkey/begin-join', { invite_code }, headers), { status: 429 });
  t.match(await post('auth/passkey/join', (await begin(await invite('ida'))).request, headers), {
    status: 429,
  });
  t.match(await post('auth/passkey/begin-join', { invite_code }), { status: 404 }, 'another address');
});

await t.test('an invitation that arrived by mail verifies the address', async (t) => {
  const { url: MAIL_URL, mails } = createMailFolder(t);
  await server.restart({ MAIL_URL, MAIL_FROM: 'quarry@example.com' });
  t.equal(await invite('jan'), undefined, 'the reply has no code');
  const code = await new TestUser(emailOf('jan'), server, mails).findInviteCode();
  t.match((await (await begin(code)).finish()).body, { user: { email_verified: true } });

  const owner = new TestUser(emailOf('ada'), server, mails);
  owner.headers = fromNewHost();
  const { link } = owner;
  owner.link = async () => (await link.call(owner)).replace(publicBase, server.url);
  t.match(await owner.signIn(), { status: 200 });
  const { passkeys } = (await owner.call('users/list-passkeys')).body;
  t.same(passkeys, [], 'the owner of the address removes the passkey of another person');
});

await t.test('joining with a passkey works without passwords, and not without passkeys', async (t) => {
  await server.restart({ PASSWORD_SIGN_IN: 'off', MAIL_URL: '' });
  const code = await invite('kim');
  t.match(await (await begin(code)).finish(), { status: 200 });
  const pending = await begin(await invite('liv'));
  await server.restart({ PASSKEY_SIGN_IN: 'off' });
  const disabled = { status: 503, text: /QUARRY_PASSKEY_SIGN_IN=off/ };
  t.match(await pending.finish(), disabled);
  t.match(await post('auth/passkey/begin-join', { invite_code: code }), disabled);
});
