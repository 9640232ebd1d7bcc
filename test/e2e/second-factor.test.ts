import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { joinAccountServer, publicBase } from './account-server.ts';
import { oneTimeCode } from './one-time-code.ts';
import { administrator, sendRequest, type TestUser } from './people.ts';

/** Second factors: setup, required at every sign-in, single use of codes, loss and reset. */

t.setTimeout(testFileMsMax);

const accounts = await joinAccountServer();
const { server, mails, fromNewHost, administer } = accounts;
const createUser = (name: string) => accounts.createUser(`${name}@factor.example`);
const code = (secret: string) => oneTimeCode(secret, accounts.now());

/** Advances the clock by two minutes, after which new codes are valid. */
const wait = () => accounts.wait(120_000);

function signInMails({ email }: TestUser): string[] {
  return mails().filter((mail) => mail.includes(`To: ${email}`) && mail.includes('verify?token='));
}

async function linkFor(user: TestUser): Promise<{ link: string; cookie: string }> {
  const before = signInMails(user).length;
  const linkRequest = { headers: fromNewHost(), body: { email: user.email } };
  const sent = await sendRequest(`${server.url}/api/auth/magic-link/send`, linkRequest);
  t.match(sent, { status: 200 });
  await waitUntil(`a mail to ${user.email}`, () => signInMails(user).length > before);
  return { link: await user.link(), cookie: sent.headers.get('set-cookie')?.split(';')[0] ?? '' };
}

/** Follows a new link as an API client. */
async function signInFirstStep(user: TestUser) {
  const { link } = await linkFor(user);
  const headers = { accept: 'application/json', ...fromNewHost() };
  return sendRequest(link, { method: 'GET', headers });
}

const secondStep = (body: unknown, headers = fromNewHost()) =>
  sendRequest(`${server.url}/api/auth/second-factor`, { body, headers });

/** User with a second factor. */
async function enrolledUser(name: string) {
  const user = createUser(name);
  t.match(await user.signIn(), { status: 200 });
  const { secret } = (await user.call('users/begin-second-factor')).body;
  const confirmed = await user.call('users/confirm-second-factor', { code: code(secret) });
  t.match(confirmed, { status: 200 });
  return { user, secret, recovery: confirmed.body.recovery_codes as string[] };
}

t.test('a second factor is enabled once a first code confirms it', async (t) => {
  const ann = createUser('ann');
  await ann.signIn();
  const off = { is_enabled: false, enabled_at: null, recovery_codes_left: 0 };
  t.same((await ann.call('users/get-second-factor')).body, off);
  t.match(await ann.call('users/confirm-second-factor', { code: '123456' }), { status: 400 });
  const begun = await ann.call('users/begin-second-factor', {}, { 'idempotency-key': 'once' });
  t.match(begun.body, { secret: /^[A-Z2-7]{32}$/, otpauth_url: /^otpauth:\/\/totp\/Quarry:ann.*secret=/ });
  const again = await ann.call('users/begin-second-factor', {}, { 'idempotency-key': 'once' });
  t.match(again, { status: 409, body: { detail: /shown only once/ } });
  t.match(await ann.call('users/confirm-second-factor', { code: 'x' }), { status: 400 });
  t.same((await ann.call('users/get-second-factor')).body, off, 'not enabled yet');
  t.match((await signInFirstStep(ann)).body, { access_token: /^zes_/ }, 'not required yet');
  const right = { code: code(begun.body.secret) };
  const confirmed = await ann.call('users/confirm-second-factor', right);
  t.equal(new Set(confirmed.body.recovery_codes).size, 10);
  t.match((await ann.call('users/get-second-factor')).body, { is_enabled: true, recovery_codes_left: 10 });
  t.match(await ann.call('users/begin-second-factor'), { status: 409 });
  t.match(await ann.call('users/disable-second-factor', right), { status: 400 }, 'a code works once');
  await wait();
  const { secret } = begun.body;
  t.match(await ann.call('users/disable-second-factor', { code: code(secret) }), { status: 200 });
  t.match((await signInFirstStep(ann)).body, { access_token: /^zes_/ });
});

t.test('a mailed link signs in with a one-time code', async (t) => {
  const { user, secret, recovery } = await enrolledUser('bea');
  const used = code(secret);
  const first = await signInFirstStep(user);
  t.match(first, { status: 200, body: { second_factor_required: true } });
  t.equal(first.body.access_token, undefined);
  const { second_factor_token } = first.body;
  t.match(await sendRequest(await user.link(), { method: 'GET' }), { status: 400 }, 'the link is used up');
  t.match(await secondStep({ second_factor_token, code: used }), { status: 401 }, 'used to confirm');
  t.match(await secondStep({ second_factor_token: `x${second_factor_token}`, code: used }), { status: 400 });
  t.match(await secondStep({ code: used }), { status: 400 }, 'without the first step');
  await wait();
  const right = { second_factor_token, code: code(secret) };
  const signedIn = await secondStep(right);
  t.match(signedIn, { status: 200, body: { access_token: /^zes_/, user: { email: user.email } } });
  t.match(await secondStep(right), { status: 401 }, 'a code works once');
  user.token = signedIn.body.access_token;
  t.match(await user.call('users/get-user'), { status: 200 });

  const lost = (await signInFirstStep(user)).body.second_factor_token;
  const spare = recovery[0]!.toUpperCase().replaceAll('-', ' ');
  t.match(await secondStep({ second_factor_token: lost, code: spare }), { status: 200 });
  t.match(await secondStep({ second_factor_token: lost, code: spare }), { status: 401 });
  t.match((await user.call('users/get-second-factor')).body, { recovery_codes_left: 9 });

  await wait();
  const late = (await signInFirstStep(user)).body.second_factor_token;
  await accounts.wait(11 * 60_000);
  t.match(
    await secondStep({ second_factor_token: late, code: code(secret) }),
    { status: 400 },
    'the sign-in has expired',
  );
});

t.test('a browser is redirected to the code page and gets its session there', async (t) => {
  const { user, secret } = await enrolledUser('cid');
  await wait();
  const { link, cookie } = await linkFor(user);
  const led = await sendRequest(link, { method: 'GET', headers: { cookie, ...fromNewHost() } });
  t.match(led, { status: 302 });
  t.equal(led.headers.get('location'), '/app/second-factor');
  const pending = led.headers.get('set-cookie') ?? '';
  t.match(pending, /^__Host-second-factor=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/);
  const own = { origin: publicBase, cookie: pending.split(';')[0]!, ...fromNewHost() };
  t.match(await secondStep({ code: '000000' }, own), { status: 401 });
  const done = await secondStep({ code: code(secret) }, own);
  t.match(done, { status: 200, body: { redirect_url: /^\//, user: { email: user.email } } });
  t.equal(done.body.access_token, undefined, 'scripts cannot read the session');
  const cookies = done.headers.getSetCookie();
  t.same(
    cookies[0],
    '__Host-second-factor=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure',
    'the first step is complete',
  );
  const session = cookies[1]?.split(';')[0] ?? '';
  const challengeRequest = { headers: { ...own, cookie: session }, body: {} };
  t.match(await sendRequest(`${server.url}/api/users/get-user`, challengeRequest), { status: 200 });
});

t.test('wrong codes slow down their sender and do not lock out the owner', async (t) => {
  const { user, secret } = await enrolledUser('dan');
  await wait();
  const from = fromNewHost();
  const statuses: number[] = [];
  const guessed = (await signInFirstStep(user)).body.second_factor_token;
  for (let i = 0; i < 4; i += 1) {
    const wrong = { second_factor_token: guessed, code: '000000' };
    statuses.push((await secondStep(wrong, from)).status);
  }
  t.same(statuses, [401, 401, 401, 429]);
  const { second_factor_token } = (await signInFirstStep(user)).body;
  const answers: number[] = [];
  for (let i = 0; i < 6; i += 1) {
    const wrong = await secondStep({ second_factor_token, code: 'aaaa-bbbb' });
    answers.push(wrong.status);
  }
  t.same(answers, [401, 401, 401, 401, 401, 429], 'one sign-in has five attempts, regardless of the address');
  const fresh = (await signInFirstStep(user)).body.second_factor_token;
  t.match(await secondStep({ second_factor_token: fresh, code: code(secret) }), { status: 200 });
});

t.test('the administrator resets a lost second factor', async (t) => {
  const { user } = await enrolledUser('eva');
  const found = (await administer('list-users', { email: user.email })).body.users[0];
  t.match(found, { second_factor: true });
  const pending = (await signInFirstStep(user)).body.second_factor_token;
  t.match(await administer('reset-second-factor', { user_id: found.user_id }), { status: 200 });
  t.match(await secondStep({ second_factor_token: pending, code: '123456' }), { status: 400 });
  t.match((await signInFirstStep(user)).body, { access_token: /^zes_/ });
});

t.test('the administrator signs in with password and code', async (t) => {
  const headers = fromNewHost();
  const login = (body: object) =>
    sendRequest(`${server.url}/api/admin/login`, {
      headers,
      body: { password: administrator.password, ...body },
    });
  t.match(await login({}), { status: 200 });
  const { secret } = (await administer('begin-administrator-second-factor')).body;
  t.match(await login({}), { status: 200 }, 'not confirmed yet');
  const confirmed = await administer('confirm-administrator-second-factor', { code: code(secret) });
  t.match(confirmed, { status: 200 });
  const [spare] = confirmed.body.recovery_codes;
  t.match(await login({}), { status: 401, body: { detail: /two-factor authentication/ } });
  t.match(await login({ code: code(secret) }), { status: 401 }, 'used to confirm');
  t.match(await login({ password: 'wrong', code: spare }), { status: 401 });
  t.match(await login({ code: spare }), { status: 200 }, 'a wrong password does not consume the code');
  await server.restart();
  await wait();
  t.match(await login({}), { status: 401 });
  t.match(await login({ code: code(secret) }), { status: 200 }, 'after a restart');
  await wait();
  const off = await administer('disable-administrator-second-factor', { code: code(secret) });
  t.match(off, { status: 200 });
  t.match(await login({}), { status: 200 });
});
