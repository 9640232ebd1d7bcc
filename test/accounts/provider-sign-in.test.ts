import type { CookieName } from '../../src/accounts/client-info.ts';
import { limits } from '../../src/core/limits.ts';
import { Identities } from '../../src/storage/identities.ts';
import { oneTimeCode } from '../e2e/one-time-code.ts';
import t from '../support/tap.ts';
import { testActor } from './account-components.ts';
import { buildSignIn, statusOf, visitor } from './sign-in-components.ts';

/** Sign-in at identity providers. */

t.test(
  'unauthenticated sign-in requests store nothing, and a browser can start several sign-ins',
  async (t) => {
    const { providers, store, setIdentity } = await buildSignIn();
    store.trace = [];
    const begin = async (cookies: Partial<Record<CookieName, string>>, redirect_url = '/') => {
      const started = await providers.begin(visitor(cookies), { provider: 'google', redirect_url });
      if (started.kind !== 'json') throw new Error('an API client gets JSON');
      return { state: new URL(started.body.url).searchParams.get('state')!, flow: started.cookie!.value! };
    };
    const one = await begin({});
    const two = await begin({ flow: one.flow });
    t.same(store.trace, [], 'no table is read or written');
    setIdentity({ issuer: 'https://i.example', subject: '1', email: 'ada@example.com', emailVerified: true });
    const finish = (state: string, flow: string) =>
      statusOf(providers.finish(visitor({ flow }), { provider: 'google', state, code: 'x' }));
    t.equal(await finish(one.state, two.flow), 200, 'the second tab keeps the sign-in of the first');
    t.equal(await finish(one.state, two.flow), 400, 'each sign-in can be completed once');
    t.equal(await finish(two.state, one.flow), 400, 'another browser');
    t.equal(await finish(two.state, `${two.flow.slice(0, -8)}AAAAAAAA`), 400, 'a modified cookie');
    t.equal(await finish(two.state, two.flow), 200);
    let { flow } = two;
    for (let i = 0; i < 30; i += 1) {
      if (i === 20) flow = (await begin({ flow }, `/${'x'.repeat(limits.signInPathUnitsMax - 1)}`)).flow;
      else if (i < 20) ({ flow } = await begin({ flow }));
      t.ok(flow.length <= limits.sealedCookieUnitsMax, 'the cookie is within the size limit of browsers');
    }
    t.equal(
      await statusOf(begin({}, `/${'x'.repeat(limits.signInPathUnitsMax)}`)),
      400,
      'a longer path is not stored',
    );
  },
);

t.test('a completed sign-in keeps the cookie of those still pending', async (t) => {
  const { providers, clock, setIdentity } = await buildSignIn();
  const begin = async (cookies: Partial<Record<CookieName, string>>) => {
    const started = await providers.begin(visitor(cookies), { provider: 'google' });
    if (started.kind !== 'json') throw new Error('an API client gets JSON');
    return { state: new URL(started.body.url).searchParams.get('state')!, flow: started.cookie!.value! };
  };
  setIdentity({ issuer: 'https://i.example', subject: '1', email: 'ada@example.com', emailVerified: true });
  const one = await begin({});
  const two = await begin({ flow: one.flow });
  const finish = async (state: string, flow: string) =>
    (await providers.finish(visitor({ flow }), { provider: 'google', state, code: 'x' })).earlierCookies;
  const [left] = (await finish(one.state, two.flow)) ?? [];
  t.match(left, { name: 'flow', maxAgeSeconds: limits.signInFlowMsMax / 1_000 });
  t.ok(left!.value!.length < two.flow.length, 'the completed sign-in is removed');
  const deletedCookie = [{ name: 'flow', value: null, maxAgeSeconds: 0 }];
  t.same(await finish(two.state, left!.value!), deletedCookie, 'the last sign-in deletes the cookie');
  const old = await begin({});
  await clock.advance(limits.signInFlowMsMax / 2);
  const newer = await begin({ flow: old.flow });
  await clock.advance(limits.signInFlowMsMax / 2);
  t.same(await finish(newer.state, newer.flow), deletedCookie, 'expired sign-ins are removed');
});

t.test('the largest cookies of all sign-ins fit into the header limit of the server', async (t) => {
  const {
    providers,
    setIdentity,
    userAccounts: people,
    secondFactors,
    clock,
    invitations,
    organizations,
  } = await buildSignIn();
  const email = `${'e'.repeat(64)}@${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(57)}.com`;
  const organizationId = 'aaaaaaaa-1111-4111-8111-111111111111';
  await organizations.create(organizationId, testActor);
  const invited = { organizationId, email, role: 'MEMBER', invitedBy: 'ada' } as const;
  const code = await invitations.signCode(await invitations.invite(invited, testActor));
  const { user } = await people.signIn({ email }, testActor, () => ({ operations: [], result: null }));
  const { secret } = await secondFactors.begin(user.userId, email);
  await secondFactors.confirm(user.userId, oneTimeCode(secret, clock.now()), testActor);
  const redirect_url = `/${'x'.repeat(limits.signInPathUnitsMax - 1)}`;
  const keyInput = { provider: 'google', redirect_url, invite_code: code } as const;
  const cookies: Partial<Record<CookieName, string>> = {};
  for (let i = 0; i < 5; i += 1)
    cookies.flow = (await providers.begin(visitor(cookies), keyInput)).cookie!.value!;
  setIdentity({ issuer: `https://${'i'.repeat(200)}`, subject: 's'.repeat(255), email, emailVerified: true });
  const started = await providers.begin(visitor(), keyInput);
  if (started.kind !== 'json') throw new Error('an API client gets JSON');
  const state = new URL(started.body.url).searchParams.get('state')!;
  const back = { ...visitor({ flow: started.cookie!.value! }), wantsJson: false };
  const led = await providers.finish(back, { provider: 'google', state, code: 'x' });
  t.match(led, { kind: 'redirect', to: '/app/second-factor', cookie: { name: 'second-factor' } });
  cookies['second-factor'] = led.cookie!.value!;
  for (const name of ['flow', 'second-factor'] as const)
    t.ok(cookies[name]!.length <= limits.sealedCookieUnitsMax, `${name}: ${cookies[name]!.length}`);
  for (const name of ['session', 'admin', 'sign-in', 'confirmation', 'marketplace'] as const)
    cookies[name] = 'x'.repeat(64);
  const header = Object.entries(cookies).map(([name, value]) => `__Host-${name}=${value}`);
  t.ok(header.join('; ').length <= limits.cookieBytesMax, `${header.join('; ').length} bytes`);
});

t.test('a provider account is linked only after the second factor is verified', async (t) => {
  const {
    providers,
    setIdentity,
    userAccounts: people,
    secondFactors,
    secondStep,
    clock,
    store,
    mails,
  } = await buildSignIn();
  const email = 'ada@example.com';
  const { user } = await people.signIn({ email }, testActor, () => ({ operations: [], result: null }));
  const { secret } = await secondFactors.begin(user.userId, email);
  await secondFactors.confirm(user.userId, oneTimeCode(secret, clock.now()), testActor);
  await clock.advance(60_000);
  const identity = { issuer: 'https://i.example', subject: '4711' };
  const linked = () => new Identities(store).findUserId(identity);
  setIdentity({ ...identity, email, emailVerified: true });
  const firstStep = async () => {
    const started = await providers.begin(visitor(), { provider: 'google' });
    if (started.kind !== 'json') throw new Error('an API client gets JSON');
    const state = new URL(started.body.url).searchParams.get('state')!;
    const back = visitor({ flow: started.cookie!.value! });
    const outcome = await providers.finish(back, { provider: 'google', state, code: 'x' });
    if (outcome.kind !== 'json' || !('second_factor_token' in outcome.body))
      throw new Error('the code is required');
    return outcome.body.second_factor_token;
  };
  const second_factor_token = await firstStep();
  t.equal(linked(), undefined, 'the first step does not link the account');
  const wrong = secondStep.finish(visitor(), { code: '000000', second_factor_token });
  t.equal(await statusOf(wrong), 401);
  t.equal(linked(), undefined, 'a wrong code does not link the account');
  await firstStep();
  t.equal(linked(), undefined, 'a repeated first step does not link the account');
  await clock.advance(60_000);
  const code = oneTimeCode(secret, clock.now());
  t.equal(await statusOf(secondStep.finish(visitor(), { code, second_factor_token })), 200);
  t.equal(linked(), user.userId);
  await clock.advance(1);
  t.match(mails.at(-1), /A new sign-in method/, 'the owner is notified');
});

t.test('overlong account IDs of a provider are rejected', async (t) => {
  const { arrive } = await buildSignIn();
  const identity = { issuer: 'https://i.example', email: 'ada@example.com', emailVerified: true };
  t.equal(await statusOf(arrive({ ...identity, subject: 's'.repeat(256) })), 502);
  t.equal(await statusOf(arrive({ ...identity, subject: 's'.repeat(255) })), 200);
});

t.test('a sign-in at a provider expires after ten minutes', async (t) => {
  const { providers, clock } = await buildSignIn();
  const started = await providers.begin(visitor(), { provider: 'google' });
  if (started.kind !== 'json') throw new Error('an API client gets JSON');
  const state = new URL(started.body.url).searchParams.get('state')!;
  await clock.advance(limits.signInFlowMsMax);
  const back = visitor({ flow: started.cookie!.value! });
  t.equal(await statusOf(providers.finish(back, { provider: 'google', state, code: 'x' })), 400);
});

t.test('the same subject at another issuer is another user', async (t) => {
  const { arrive } = await buildSignIn();
  const at = (issuer: string, email: string) =>
    arrive({ issuer: `https://${issuer}.example`, subject: '4711', email, emailVerified: true });
  const ada = await at('one', 'ada@example.com');
  const eve = await at('two', 'eve@example.com');
  t.not(eve.id, ada.id);
  t.equal(eve.email, 'eve@example.com');
  const again = await at('one', 'ada.lovelace@example.com');
  t.equal(again.id, ada.id, 'known users are identified by issuer and subject, regardless of the address');
});

t.test('an unverified provider address neither links an account nor signs in', async (t) => {
  const { arrive, userAccounts: people, invitations, store } = await buildSignIn();
  await people.signIn({ email: 'ada@example.com' }, testActor, () => ({ operations: [], result: null }));
  const organizationId = '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10';
  const invited = { organizationId, email: 'guest@example.com', role: 'OWNER', invitedBy: 'a' } as const;
  await invitations.invite(invited, testActor);
  const before = JSON.stringify(people.findByEmail('ada@example.com'));
  for (const email of ['ada@example.com', 'guest@example.com', 'nobody@example.com']) {
    const identity = { issuer: 'https://one.example', subject: email, email, emailVerified: false };
    t.equal(await statusOf(arrive(identity)), 403, email);
  }
  t.equal(JSON.stringify(people.findByEmail('ada@example.com')), before);
  t.equal(people.findByEmail('guest@example.com'), undefined, 'the invitation stays open');
  let links = 0;
  for await (const { key } of store.range({ gte: Uint8Array.of(0x1e), lt: Uint8Array.of(0x1f) }))
    links += key.length;
  t.equal(links, 0);
});
