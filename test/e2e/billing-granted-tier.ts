import t from '../support/tap.ts';
import {
  administratorStatus,
  limitsByTier,
  type OrganizationOwner,
  type PlanTier,
} from './billing-fixture.ts';
import { fixture } from './billing-server.ts';

/** A tier granted by the administrator beside a paid one: the higher tier applies, and every reply reports it. */

type Tier = PlanTier | 'enterprise';

async function grant(owner: OrganizationOwner, subscription_tier: Tier): Promise<void> {
  const body = { organization_id: owner.organizationId, subscription_tier };
  const status = await administratorStatus(fixture.server, 'update-organization', body);
  if (status !== 200) throw new Error(`the administrator received ${status}`);
}

async function subscribe(owner: OrganizationOwner, tier: 'starter' | 'teams') {
  return owner.call('subscribe', { tier, payment_method_id: await owner.createCard() });
}

const checkTier = (tier: Tier) => ({ subscription_tier: tier, rate_limits: limitsByTier[tier] });

t.test('a granted tier or a lower one is never charged', async (t) => {
  const owner = await fixture.createOwner();
  await grant(owner, 'teams');
  const payment_method_id = await owner.createCard();
  for (const tier of ['starter', 'teams'])
    for (const operation of ['subscribe', 'preview'])
      t.match(
        await owner.request(operation, { tier, payment_method_id }),
        { status: 409, body: { detail: /granted this organization the teams tier free of charge/ } },
        `${operation} to ${tier}`,
      );
  t.strictSame(owner.invoices(), [], 'nothing was charged');
  await fixture.advanceBriefly();
  t.match(await owner.status(), checkTier('teams'), 'no downgrade happened');
});

t.test('a tier above the granted one is sold, and the granted one applies again after it ends', async (t) => {
  const owner = await fixture.createOwner();
  await grant(owner, 'starter');
  t.match(await subscribe(owner, 'teams'), { status: 'active', subscription_tier: 'teams' });
  t.match(await owner.call('pause'), {
    status: 'paused',
    subscription_tier: 'starter',
    paused_tier: 'teams',
  });
  t.match(await owner.status(), checkTier('starter'));
  t.match(await owner.call('subscribe', { tier: 'teams' }), {
    status: 'resumed',
    subscription_tier: 'teams',
  });
  await fixture.stripe.subscriptions.cancel(owner.subscription()!.id);
  await fixture.advanceBriefly();
  t.match(await owner.status(), { ...checkTier('starter'), status: 'none' });
  await grant(owner, 'free');
  t.match(await owner.status(), checkTier('free'));
});

t.test('a higher tier granted during a subscription stays until it is withdrawn', async (t) => {
  const owner = await fixture.createOwner();
  await subscribe(owner, 'starter');
  await grant(owner, 'teams');
  await fixture.advanceBriefly();
  t.match(await owner.status(), { ...checkTier('teams'), status: 'active' });
  t.equal(
    (await owner.request('subscribe', { tier: 'teams' })).status,
    409,
    'an upgrade would change nothing',
  );
  await grant(owner, 'free');
  await fixture.advanceBriefly();
  t.match(await owner.status(), checkTier('starter'), 'the paid tier');
});

t.test(
  'every operation shows the same tier for an enterprise organization with a live subscription',
  async (t) => {
    const owner = await fixture.createOwner();
    await subscribe(owner, 'teams');
    await grant(owner, 'enterprise');
    await fixture.advanceBriefly();
    const enterprise = { subscription_tier: 'enterprise' };
    t.match(await owner.status(), { ...checkTier('enterprise'), status: 'active' });
    t.match(await owner.call('downgrade', { tier: 'starter' }), {
      ...enterprise,
      pending_downgrade: { tier: 'starter' },
    });
    t.match(await owner.status(), { ...enterprise, pending_downgrade: { tier: 'starter' } });
    t.match(await owner.call('cancel-downgrade'), { ...enterprise, pending_downgrade: null });
    t.equal((await owner.request('subscribe', { tier: 'teams' })).status, 400, 'not self-service');
    t.match(await owner.call('pause'), { ...enterprise, paused_tier: 'teams' });
    t.match(await owner.status(), { ...checkTier('enterprise'), status: 'paused' });
    const info = await owner.user.call('organizations/get-info', { organization_id: owner.organizationId });
    t.match(info.body.organization, enterprise);
  },
);
