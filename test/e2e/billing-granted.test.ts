import t from 'tap';
import { fileMsMax } from '../waiting.ts';
import { asAdministrator, BillingWorld, limitsOf, type Owner, type PlanTier } from './billing-world.ts';

/** A tier that the administrator gave, next to one that is paid for: the better one applies, and every reply says so. */

t.setTimeout(fileMsMax);
const world = await BillingWorld.start(t, '2027-08-10T12:00:00Z');
type Tier = PlanTier | 'enterprise';

async function grant(owner: Owner, subscription_tier: Tier): Promise<void> {
  const body = { organization_id: owner.organizationId, subscription_tier };
  const status = await asAdministrator(world.server, 'update-organization', body);
  if (status !== 200) throw new Error(`the administrator was answered ${status}`);
}

async function subscribe(owner: Owner, tier: 'starter' | 'teams') {
  return owner.call('subscribe', { tier, payment_method_id: await owner.card() });
}

const applies = (tier: Tier) => ({ subscription_tier: tier, rate_limits: limitsOf[tier] });

t.test('a granted tier or a lower one is never charged', async (t) => {
  const owner = await world.owner();
  await grant(owner, 'teams');
  const payment_method_id = await owner.card();
  for (const tier of ['starter', 'teams'])
    for (const operation of ['subscribe', 'preview'])
      t.match(
        await owner.ask(operation, { tier, payment_method_id }),
        { status: 409, body: { detail: /gave this organization the tier teams, free of charge/ } },
        `${operation} to ${tier}`,
      );
  t.strictSame(owner.invoices(), [], 'nothing was charged');
  await world.moment();
  t.match(await owner.status(), applies('teams'), 'nothing was lowered');
});

t.test('a tier above the granted one is sold, and the granted one returns after it', async (t) => {
  const owner = await world.owner();
  await grant(owner, 'starter');
  t.match(await subscribe(owner, 'teams'), { status: 'active', subscription_tier: 'teams' });
  t.match(await owner.call('pause'), {
    status: 'paused',
    subscription_tier: 'starter',
    paused_tier: 'teams',
  });
  t.match(await owner.status(), applies('starter'));
  t.match(await owner.call('subscribe', { tier: 'teams' }), {
    status: 'resumed',
    subscription_tier: 'teams',
  });
  await world.stripe.subscriptions.cancel(owner.subscription()!.id);
  await world.moment();
  t.match(await owner.status(), { ...applies('starter'), status: 'none' });
  await grant(owner, 'free');
  t.match(await owner.status(), applies('free'));
});

t.test('a better tier that is granted during a subscription stays until it is withdrawn', async (t) => {
  const owner = await world.owner();
  await subscribe(owner, 'starter');
  await grant(owner, 'teams');
  await world.moment();
  t.match(await owner.status(), { ...applies('teams'), status: 'active' });
  t.equal((await owner.ask('subscribe', { tier: 'teams' })).status, 409, 'an upgrade would change nothing');
  await grant(owner, 'free');
  await world.moment();
  t.match(await owner.status(), applies('starter'), 'what is paid for');
});

t.test('every operation names the same tier for an enterprise with a live subscription', async (t) => {
  const owner = await world.owner();
  await subscribe(owner, 'teams');
  await grant(owner, 'enterprise');
  await world.moment();
  const enterprise = { subscription_tier: 'enterprise' };
  t.match(await owner.status(), { ...applies('enterprise'), status: 'active' });
  t.match(await owner.call('downgrade', { tier: 'starter' }), {
    ...enterprise,
    pending_downgrade: { tier: 'starter' },
  });
  t.match(await owner.status(), { ...enterprise, pending_downgrade: { tier: 'starter' } });
  t.match(await owner.call('cancel-downgrade'), { ...enterprise, pending_downgrade: null });
  t.equal((await owner.ask('subscribe', { tier: 'teams' })).status, 400, 'agreed on in person');
  t.match(await owner.call('pause'), { ...enterprise, paused_tier: 'teams' });
  t.match(await owner.status(), { ...applies('enterprise'), status: 'paused' });
  const info = await owner.person.call('organizations/get-info', { organization_id: owner.organizationId });
  t.match(info.body.organization, enterprise);
});

t.test('Stripe understood every request', async (t) => world.checkUnderstood(t));
