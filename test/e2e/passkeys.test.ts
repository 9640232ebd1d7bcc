import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { joinAccountServer, publicBase } from './account-server.ts';
import { oneTimeCode } from './one-time-code.ts';
import { addPasskey, createAuthenticator, createPasskeyFixture } from './passkey-fixture.ts';
import type { HttpReply } from './people.ts';

/** Passkeys: adding, signing in, rejected replies of authenticators, removal, limits and administration. */

t.setTimeout(testFileMsMax);

const minuteMs = 60_000;
const accounts = await joinAccountServer();
const { server, administer, wait, fromNewHost } = accounts;
const { post, createUser, createOwner, beginSignIn, signIn } = createPasskeyFixture(t, accounts);

const rejected = '{"detail":"This passkey is not accepted. Sign in with another method."}';
const isRejected = (t: Test, reply: HttpReply, reason: string) =>
  t.match(reply, { status: 401, text: rejected }, reason);

async function checkRoundTrip(t: Test, name: string): Promise<void> {
  const user = await createUser(name);
  const authenticator = createAuthenticator();
  const before = await user.call('users/list-passkeys');
  t.same(before.body, { passkeys: [], is_available: true, needs_sign_in: false });
  const begun = await user.call('users/begin-passkey');
  t.match(begun.body.options, {
    rp: { id: 'quarry.example.com', name: 'Quarry' },
    user: { name: user.email },
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    attestation: 'none',
  });
  const added = await addPasskey(user, authenticator, { name: ' Laptop ' });
  t.match(added, {
    status: 200,
    body: { passkey: { name: 'Laptop', host: 'quarry.example.com', is_synced: false, last_used_at: null } },
  });
  const sent = await beginSignIn();
  t.strictSame(Object.keys(sent.options).sort(), ['challenge', 'rpId', 'timeout', 'userVerification']);
  const signedIn = await signIn(authenticator);
  t.match(signedIn, {
    status: 200,
    body: { access_token: /^zes_/, user: { email: user.email }, redirect_url: '/app/' },
  });
  user.token = signedIn.body.access_token;
  const { passkeys } = (await user.call('users/list-passkeys')).body;
  t.match(passkeys, [{ id: added.body.passkey.id, last_used_at: /^\d{4}-/ }]);
  t.equal(passkeys.length, 1);
  t.match(await user.findMail('A passkey was added'), /"Laptop" can now sign in/);
}

const roundTrip = 'a passkey is added, signs in without an address and is listed';
await t.test(`${roundTrip}: the default HTTP server`, (t) => checkRoundTrip(t, 'ada'));

await t.test('the user handle is random, and the same for all passkeys of a user', async (t) => {
  const { user, authenticator } = await createOwner('bea');
  const { options } = (await user.call('users/begin-passkey')).body;
  const { id } = (await user.call('users/get-user')).body.user;
  t.equal(Buffer.from(options.user.id, 'base64url').byteLength, 32);
  t.equal(options.user.id, authenticator.credentials[0]!.userHandle);
  const handle = Buffer.from(options.user.id, 'base64url');
  t.notOk(handle.includes(id) || handle.includes(id.replaceAll('-', ''), 0, 'hex'));
  t.match(options.excludeCredentials, [{ id: authenticator.credentials[0]!.id, transports: ['internal'] }]);
  const other = await createOwner('other-bea');
  t.not(other.authenticator.credentials[0]!.userHandle, options.user.id);
});

await t.test('a browser gets a cookie, and the requested page', async (t) => {
  const { authenticator } = await createOwner('cid');
  const headers = { origin: publicBase, ...fromNewHost() };
  const begun = await post('auth/passkey/begin', { redirect_url: '/app/keys' }, headers);
  const { options, passkey_token } = begun.body;
  const request = { passkey_token, credential: authenticator.sign(options) };
  const done = await post('auth/passkey/sign-in', request, headers);
  t.match(done, { status: 200, body: { redirect_url: '/app/keys' } });
  t.equal(done.body.access_token, undefined, 'scripts cannot read the session');
  t.match(done.headers.get('set-cookie'), /^__Host-session=zes_[\w-]+; .*HttpOnly; SameSite=Lax; Secure$/);
  const outside = await post('auth/passkey/begin', { redirect_url: 'https://evil.example/' }, headers);
  t.match(outside, { status: 400 });
  const crossSite = { ...headers, origin: 'https://evil.example' };
  t.match(await post('auth/passkey/sign-in', request, crossSite), { status: 403 });
});

await t.test('a passkey replaces both factors', async (t) => {
  const { user, authenticator } = await createOwner('dan');
  const { secret } = (await user.call('users/begin-second-factor')).body;
  const code = oneTimeCode(secret, accounts.now());
  t.match(await user.call('users/confirm-second-factor', { code }), { status: 200 });
  t.match(await signIn(authenticator), { status: 200, body: { access_token: /^zes_/ } });
});

await t.test('an invalid reply of an authenticator gets the same error for every reason', async (t) => {
  const { user, authenticator } = await createOwner('fay');
  const foreign = await createOwner('gus');
  isRejected(t, await signIn(authenticator, { origin: 'https://evil.example' }), 'wrong origin');
  isRejected(t, await signIn(authenticator, { origin: 'http://quarry.example.com' }), 'http');
  isRejected(t, await signIn(authenticator, { relyingPartyId: 'evil.example' }), 'wrong host name');
  isRejected(t, await signIn(authenticator, { isUserVerified: false }), 'no user verification');
  isRejected(t, await signIn(authenticator, { isUserPresent: false }), 'no user presence');
  const [own] = authenticator.credentials;
  const [other] = foreign.authenticator.credentials;
  const unknown = createAuthenticator();
  unknown.create({ rp: { id: 'quarry.example.com' }, user: { id: own!.userHandle }, challenge: '' });
  isRejected(t, await signIn(unknown), 'a passkey that was never added');
  const attempts = {
    'the key of another user': { ...own!, privateKey: other!.privateKey },
    'the account of another user': { ...own!, userHandle: other!.userHandle },
    'the ID of another passkey': { ...own!, id: other!.id },
    'no account': { ...own!, userHandle: '' },
  };
  for (const [reason, credential] of Object.entries(attempts)) {
    const { options, passkey_token } = await beginSignIn();
    const signed = authenticator.sign(options, {}, credential);
    isRejected(t, await post('auth/passkey/sign-in', { passkey_token, credential: signed }), reason);
  }
  const { options, passkey_token } = await beginSignIn();
  const signed = authenticator.sign(options);
  for (const field of ['clientDataJSON', 'authenticatorData', 'signature'] as const) {
    const credential = { ...signed, response: { ...signed.response, [field]: 'AAAA' } };
    isRejected(t, await post('auth/passkey/sign-in', { passkey_token, credential }), `damaged ${field}`);
  }
  t.match(await post('auth/passkey/sign-in', { passkey_token, credential: {} }), { status: 422 });
  t.match(await post('auth/passkey/sign-in', { passkey_token, credential: signed }), { status: 200 });
  t.match((await user.call('users/get-user')).body, { user: { email: user.email } });
});

await t.test('a signature counter that goes back is rejected and recorded', async (t) => {
  const { user, authenticator, passkeyId } = await createOwner('hal', { counter: 5 });
  t.match(await signIn(authenticator, { counter: 6 }), { status: 200 });
  isRejected(t, await signIn(authenticator, { counter: 6 }), 'the same counter');
  isRejected(t, await signIn(authenticator, { counter: 3 }), 'a lower counter');
  isRejected(t, await signIn(authenticator, { counter: 0 }), 'no counter any more');
  t.match(await signIn(authenticator, { counter: 9 }), { status: 200 });
  const { id } = (await user.call('users/get-user')).body.user;
  const { entries } = (await administer('get-audit-log', {})).body;
  const failure = { action: 'sign_in.failed', actor: id, target: `passkey ${passkeyId}` };
  t.match(
    entries.filter((entry: typeof failure) => entry.target === failure.target),
    [failure],
  );
});

await t.test('an invalid new passkey is not stored', async (t) => {
  const user = await createUser('ida');
  const authenticator = createAuthenticator();
  for (const behavior of [
    { origin: 'https://evil.example' },
    { relyingPartyId: 'evil.example' },
    { isUserVerified: false },
    { isUserPresent: false },
  ])
    t.match(await addPasskey(user, authenticator, behavior), {
      status: 400,
      body: { detail: /reply of the authenticator is not valid/ },
    });
  t.match(await addPasskey(user, authenticator, { name: ' ' }), { status: 400 });
  const begun = (await user.call('users/begin-passkey')).body;
  const request = {
    passkey_token: begun.passkey_token,
    credential: authenticator.create(begun.options),
    name: 'Key',
  };
  const other = await createUser('not-ida');
  t.match(await other.call('users/add-passkey', request), { status: 400 }, 'the token of another user');
  const signInToken = (await beginSignIn()).passkey_token;
  const mixed = { ...request, passkey_token: signInToken };
  t.match(await user.call('users/add-passkey', mixed), { status: 400 }, 'the token of a sign-in');
  t.same((await user.call('users/list-passkeys')).body.passkeys, [], 'nothing was stored');
  t.match(await user.call('users/add-passkey', request), { status: 200 });
  t.match(await user.call('users/add-passkey', request), { status: 400 }, 'a challenge is answered once');
  const again = (await other.call('users/begin-passkey')).body;
  const copied = authenticator.create(again.options);
  authenticator.credentials.pop();
  const taken = { passkey_token: again.passkey_token, credential: { ...copied, id: request.credential.id } };
  t.match(
    await other.call('users/add-passkey', { ...taken, name: 'Key' }),
    { status: 400 },
    'the ID of another',
  );
  const late = (await user.call('users/begin-passkey')).body;
  await wait(6 * minuteMs);
  const expired = { passkey_token: late.passkey_token, credential: authenticator.create(late.options) };
  t.match(await user.call('users/add-passkey', { ...expired, name: 'Key' }), { status: 400 });
});

await t.test('a statement about the authenticator is ignored', async (t) => {
  const { authenticator } = await createOwner('jim', { attestation: 'packed' });
  t.match(await signIn(authenticator), { status: 200 });
});

await t.test('a passkey is added only after a recent sign-in', async (t) => {
  const { user, authenticator } = await createOwner('kim');
  await wait(16 * minuteMs);
  t.match((await user.call('users/list-passkeys')).body, { needs_sign_in: true });
  const reply = await addPasskey(user, createAuthenticator());
  t.match(reply, { status: 403, body: { detail: /sign in again/ } });
  user.token = (await signIn(authenticator)).body.access_token;
  t.match(await addPasskey(user, createAuthenticator()), { status: 200 });
});

await t.test('a passkey is renamed and deleted by its owner only', async (t) => {
  const { user, authenticator, passkeyId } = await createOwner('liv');
  const other = await createUser('not-liv');
  const rename = { passkey_id: passkeyId, name: 'Old phone' };
  t.match(await other.call('users/update-passkey', rename), { status: 404 });
  t.match(await other.call('users/delete-passkey', { passkey_id: passkeyId }), { status: 404 });
  t.match(await user.call('users/update-passkey', { ...rename, name: 'a\nb' }), { status: 400 });
  t.match(await user.call('users/update-passkey', rename), {
    status: 200,
    body: { passkey: { id: passkeyId, name: 'Old phone' } },
  });
  t.match(await signIn(authenticator), { status: 200 });
  const pending = await beginSignIn();
  const credential = authenticator.sign(pending.options);
  t.match(await user.call('users/delete-passkey', { passkey_id: passkeyId }), { status: 200 });
  t.match(await user.call('users/delete-passkey', { passkey_id: passkeyId }), { status: 404 });
  isRejected(t, await signIn(authenticator), 'a deleted passkey');
  const { passkey_token } = pending;
  isRejected(t, await post('auth/passkey/sign-in', { passkey_token, credential }), 'deleted meanwhile');
  const { id } = (await user.call('users/get-user')).body.user;
  const { entries } = (await administer('get-audit-log', {})).body;
  const actions = entries
    .filter((entry: { target: string }) => entry.target === id)
    .map((entry: { action: string }) => entry.action);
  t.same(actions.slice(0, 3), ['passkey.deleted', 'passkey.renamed', 'passkey.added']);
});

await t.test('a user has at most 20 passkeys', async (t) => {
  const user = await createUser('max');
  for (let i = 0; i < 20; i += 1)
    t.match(await addPasskey(user, createAuthenticator(), { name: `Key ${i}` }), { status: 200 });
  t.match(await addPasskey(user, createAuthenticator()), { status: 400, body: { detail: /maximum/ } });
  const { passkeys } = (await user.call('users/list-passkeys')).body;
  t.match(await user.call('users/delete-passkey', { passkey_id: passkeys[0].id }), { status: 200 });
  t.match(await addPasskey(user, createAuthenticator()), { status: 200 });
});

await t.test(
  'the administrator sees and deletes passkeys, and a disabled or deleted user has none',
  async (t) => {
    const { user, authenticator, passkeyId } = await createOwner('ned');
    await addPasskey(user, createAuthenticator(), { name: 'Second' });
    const find = async () => (await administer('list-users', { email: user.email })).body.users[0];
    const { user_id, passkeys } = await find();
    t.equal(passkeys, 2);
    const listed = await administer('list-user-passkeys', { user_id });
    t.match(listed.body.passkeys, [{ id: passkeyId, name: 'Laptop' }, { name: 'Second' }]);
    const stranger = await createOwner('not-ned');
    const wrong = { user_id, passkey_id: stranger.passkeyId };
    t.match(await administer('delete-user-passkeys', wrong), { status: 404 });
    t.match(await administer('disable-user', { user_id }), { status: 200 });
    t.match(await signIn(authenticator), { status: 403, body: { detail: /disabled/ } });
    t.match(await administer('enable-user', { user_id }), { status: 200 });
    t.match(await signIn(authenticator), { status: 200 });
    t.match(await administer('delete-user-passkeys', { user_id, passkey_id: passkeyId }), { status: 200 });
    isRejected(t, await signIn(authenticator), 'deleted by the administrator');
    t.match(await find(), { passkeys: 1 });
    t.match(await administer('delete-user-passkeys', { user_id }), { status: 200 });
    t.match(await find(), { passkeys: 0 });
    const { user_id: otherId } = (await administer('list-users', { email: 'not-ned@passkeys.example.com' }))
      .body.users[0];
    t.match(await administer('delete-user', { user_id: otherId }), { status: 200 });
    isRejected(t, await signIn(stranger.authenticator), 'a deleted user');
    t.match(await administer('list-user-passkeys', { user_id: otherId }), { status: 404 });
  },
);

await t.test('one address has a limited number of requests', async (t) => {
  const headers = fromNewHost();
  const statuses = new Set<number>();
  for (let i = 0; i < 240; i += 1) statuses.add((await post('auth/passkey/begin', {}, headers)).status);
  t.same([...statuses], [200]);
  t.match(await post('auth/passkey/begin', {}, headers), { status: 429 });
  t.match(await post('auth/passkey/begin', {}), { status: 200 }, 'another address');
});

await t.test('a challenge is answered once, within five minutes', async (t) => {
  const { authenticator } = await createOwner('eve');
  const { options, passkey_token } = await beginSignIn();
  const request = { passkey_token, credential: authenticator.sign(options) };
  const [first, second] = await Promise.all([
    post('auth/passkey/sign-in', request),
    post('auth/passkey/sign-in', request),
  ]);
  const statuses = [first, second].map(({ status }) => status).sort();
  t.equal(statuses[0], 200);
  t.ok(statuses[1] === 400 || statuses[1] === 401, 'one of two concurrent replies');
  t.match(await post('auth/passkey/sign-in', request), { status: 400, text: /already answered/ }, 'later');
  const next = await beginSignIn();
  const replayed = { passkey_token: next.passkey_token, credential: request.credential };
  isRejected(t, await post('auth/passkey/sign-in', replayed), 'an earlier reply to a new challenge');
  await server.restart({ HTTP: 'node' });
  t.match(await post('auth/passkey/sign-in', request), { status: 400 }, 'after a restart');
  const late = await beginSignIn();
  await wait(6 * minuteMs);
  const expired = { passkey_token: late.passkey_token, credential: authenticator.sign(late.options) };
  t.match(await post('auth/passkey/sign-in', expired), { status: 400, text: /has expired/ });
  const forged = { ...expired, passkey_token: `${late.passkey_token}x` };
  t.match(await post('auth/passkey/sign-in', forged), { status: 400 });
});

await t.test(`${roundTrip}: node:http`, (t) => checkRoundTrip(t, 'node-ada'));

await t.test(
  'passkeys are bound to the host name and work again when it returns, and a setting disables them',
  async (t) => {
    const { authenticator: bound } = await createOwner('pia');
    const { user, authenticator, passkeyId } = await createOwner('ole');
    const pending = await beginSignIn();
    const request = {
      passkey_token: pending.passkey_token,
      credential: authenticator.sign(pending.options),
    };
    await server.restart({ HTTP: 'uws', BASE_URL: 'https://search.example.com' });
    const moved = { origin: 'https://search.example.com', relyingPartyId: 'search.example.com' };
    t.match(await signIn(bound, moved), { status: 401 }, 'another host name');

    await server.restart({ BASE_URL: publicBase, PASSKEY_SIGN_IN: 'off' });
    const disabled = { status: 503, text: /QUARRY_PASSKEY_SIGN_IN=off/ };
    t.match(await post('auth/passkey/sign-in', request), disabled);
    t.match(await post('auth/passkey/begin', {}), { status: 503 });
    t.match(await user.call('users/begin-passkey'), { status: 503 });
    t.match((await user.call('users/list-passkeys')).body, { is_available: false });
    t.match(
      await user.call('users/delete-passkey', { passkey_id: passkeyId }),
      { status: 200 },
      'a passkey can still be deleted',
    );

    await server.restart({ PASSKEY_SIGN_IN: 'on' });
    isRejected(t, await signIn(authenticator), 'deleted');
    t.match(await signIn(bound), { status: 200 }, 'the host name returned');
  },
);
