import { createHmac } from 'node:crypto';
import t from '../support/tap.ts';
import { administratorStatus, limitsByTier, type OrganizationOwner } from './billing-fixture.ts';
import { fixture, vercelSecret } from './billing-server.ts';
import { type HttpReply, sendRequest } from './people.ts';
import { adminKey } from './server.ts';

/** Organizations that pay directly and through a marketplace: the higher tier applies, and usage is metered once. */

/** Buys `teams` through Vercel; the emulator uses the code as the installation id. */
async function buyAtVercel(owner: OrganizationOwner, code: string): Promise<number> {
  const next = 'https://vercel.com/acme';
  const query = new URLSearchParams({ code, next });
  const signUpReply = await sendRequest(`${fixture.server.url}/api/marketplaces/vercel?${query}`, {
    method: 'GET',
  });
  return (await bindAgreement(owner, signUpReply)).status;
}

/** Buys in AWS Marketplace; the emulator derives the license from the token. */
async function buyAtAws(owner: OrganizationOwner, token: string): Promise<HttpReply> {
  const body = new URLSearchParams({ 'x-amzn-marketplace-token': token }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return bindAgreement(
    owner,
    await sendRequest(`${fixture.server.url}/api/marketplaces/aws`, { body, headers }),
  );
}

async function bindAgreement(owner: OrganizationOwner, signUpReply: HttpReply): Promise<HttpReply> {
  const sign_up = /\?sign_up=([\w-]{43})$/.exec(signUpReply.headers.get('location') ?? '')?.[1] ?? '';
  const cookie = signUpReply.headers.get('set-cookie')?.split(';')[0] ?? '';
  return sendRequest(`${fixture.server.url}/api/marketplaces/bind`, {
    body: { sign_up, organization_id: owner.organizationId },
    headers: { authorization: `Bearer ${owner.user.token}`, cookie },
  });
}

async function end(id: string): Promise<number> {
  const body = JSON.stringify({
    type: 'integration-configuration.removed',
    payload: { configuration: { id }, team: { id: 'team_1' } },
  });
  const signature = createHmac('sha1', vercelSecret).update(body).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-vercel-signature': signature };
  return (await sendRequest(`${fixture.server.url}/api/marketplaces/vercel/events`, { body, headers }))
    .status;
}

async function administratorTierOf({ organizationId: organization_id }: OrganizationOwner): Promise<unknown> {
  const headers = { authorization: `Bearer ${adminKey}` };
  return (
    await sendRequest(`${fixture.server.url}/v1/admin/get-organization`, {
      body: { organization_id },
      headers,
    })
  ).body;
}

t.test('the higher of both tiers applies while it lasts', async (t) => {
  const owner = await fixture.createOwner();
  await owner.call('subscribe', { tier: 'starter', payment_method_id: await owner.createCard() });
  t.equal(await buyAtVercel(owner, 'icfg_1'), 200);
  await fixture.advanceBriefly();
  t.match(
    await owner.status(),
    { subscription_tier: 'teams', status: 'active' },
    'the tier remains after Stripe was read',
  );
  t.equal(await end('icfg_1'), 200);
  t.match(await owner.status(), { subscription_tier: 'starter' }, 'a tier paid on this server remains');
});

t.test('a grant by the administrator never lowers a bought or paid tier', async (t) => {
  const grant = async (owner: OrganizationOwner, subscription_tier: string) => {
    const body = { organization_id: owner.organizationId, subscription_tier };
    t.equal(await administratorStatus(fixture.server, 'update-organization', body), 200);
  };
  const [bought, paid] = [await fixture.createOwner(), await fixture.createOwner()];
  t.equal(await buyAtVercel(bought, 'icfg_3'), 200);
  for (const [granted, checkTier] of [
    ['starter', 'teams'],
    ['enterprise', 'enterprise'],
    ['free', 'teams'],
    ['starter', 'teams'],
  ] as const) {
    await grant(bought, granted);
    t.match(
      await bought.status(),
      { subscription_tier: checkTier, rate_limits: limitsByTier[checkTier] },
      granted,
    );
  }
  t.equal(await end('icfg_3'), 200);
  t.match(await bought.status(), { subscription_tier: 'starter' }, 'the granted tier remains');

  await paid.call('subscribe', { tier: 'starter', payment_method_id: await paid.createCard() });
  await grant(paid, 'free');
  t.match(await administratorTierOf(paid), { subscription_tier: 'starter' }, 'Stripe was not called');
});

t.test('an organization that pays at a marketplace is not charged on this server', async (t) => {
  const owner = await fixture.createOwner();
  t.equal(await buyAtVercel(owner, 'icfg_2'), 200);
  const subscribeRequest = { tier: 'starter', payment_method_id: await owner.createCard() };
  t.match(await owner.request('subscribe', subscribeRequest), {
    status: 409,
    body: { detail: /through a marketplace/ },
  });
  t.same(owner.invoices(), []);
  t.equal(await end('icfg_2'), 200);
  t.match(await owner.status(), { subscription_tier: 'free' });
  t.match(await owner.call('subscribe', subscribeRequest), {
    status: 'active',
    subscription_tier: 'starter',
  });
});

t.test('an organization metered for one AWS license cannot bind a second one', async (t) => {
  const owner = await fixture.createOwner();
  t.match(await buyAtAws(owner, 'one'), { status: 200, body: { subscription_tier: 'starter' } });
  t.match(await buyAtAws(owner, 'one'), { status: 200 }, 'binding the same license again is accepted');
  t.match(await buyAtAws(owner, 'two'), {
    status: 409,
    body: { detail: /already metered for the AWS license \S+l-one.*charged twice/ },
  });
  t.match(
    await buyAtAws(await fixture.createOwner(), 'two'),
    { status: 200 },
    'another organization can bind it',
  );
});

t.test('an organization that pays by card cannot bind an AWS license until it pauses', async (t) => {
  const owner = await fixture.createOwner();
  const subscribed = { tier: 'starter', payment_method_id: await owner.createCard() };
  await owner.call('subscribe', subscribed);
  const refused = { status: 409, body: { detail: /by its subscription on this server.*Pause or end/ } };
  t.match(await buyAtAws(owner, 'three'), refused);
  const waits = await fixture.createOwner();
  const request = {
    tier: 'starter',
    payment_method_id: await waits.createCard('tok_authenticationRequired'),
  };
  t.equal((await waits.call('subscribe', request)).status, 'requires_action');
  t.match(await buyAtAws(waits, 'four'), refused, 'rejected while the first payment is pending');
  await waits.call('cancel-upgrade');
  t.match(await buyAtAws(waits, 'four'), { status: 200 });
  await owner.call('pause');
  t.match(await buyAtAws(owner, 'three'), { status: 200 });
  for (const operation of ['subscribe', 'preview'])
    t.match(
      await owner.request(operation, { tier: 'starter' }),
      { status: 409, body: { detail: /metered through AWS Marketplace/ } },
      `${operation}, which would resume`,
    );
});

t.test('concurrent AWS binding and card subscription: only one succeeds', async (t) => {
  for (let turn = 0; turn < 5; turn += 1) {
    const owner = await fixture.createOwner();
    const subscribeRequest = { tier: 'teams', payment_method_id: await owner.createCard() };
    const [bound, subscribed] = await Promise.all([
      buyAtAws(owner, `race-${turn}`),
      owner.request('subscribe', subscribeRequest),
    ]);
    const statuses = [bound.status, subscribed.status];
    t.ok(statuses.includes(409), `${statuses}`);
    t.ok(
      statuses.every((status) => status === 200 || status === 409),
      `${statuses}`,
    );
  }
});
