import { EffectiveTiers } from '../../src/billing/effective-tiers.ts';
import { BillingRecords } from '../../src/storage/billing.ts';
import { type MarketplaceAgreement, MarketplaceRecords } from '../../src/storage/marketplaces.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import {
  type Organization,
  Organizations,
  type Tier,
  tiers as tierNames,
} from '../../src/storage/organizations.ts';
import { accountComponents, testActor } from '../accounts/account-components.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import t from '../support/tap.ts';

const organizationId = 'aaaaaaaa-1111-4111-8111-111111111111';
const now = Date.UTC(2027, 2, 10);
const monthMs = 30 * 86_400_000;

async function build(takesPayments = true) {
  const store = new MemoryStore();
  const clock = new FakeClock({ wall: now });
  const { organizations } = accountComponents(store, { clock });
  const [billing, agreements] = [new BillingRecords(store), new MarketplaceRecords(store)];
  await organizations.create(organizationId, testActor);
  const tiers = new EffectiveTiers({
    organizations,
    billing,
    agreements,
    clock,
    isBillingEnabled: takesPayments,
  });
  const subscribe = (tier: Tier | null, status = 'active') => {
    const account = billing.getAccount(organizationId);
    const copy = {
      subscription: { tier, status, periodEnd: now + monthMs },
    } as unknown as typeof account.copy;
    return store.write(billing.putAccount(organizationId, { ...account, ownsTier: true, copy }));
  };
  const buy = (tier: Tier, endedAt: number | null = null) =>
    store.write(agreements.putAgreement(agreementOf(tier, endedAt)));
  return {
    store,
    clock,
    organizations,
    tiers,
    subscribe,
    buy,
    tier: () => organizations.get(organizationId).tier,
  };
}

function agreementOf(tier: Tier, endedAt: number | null): MarketplaceAgreement {
  const offer = {
    marketplace: 'aws',
    licenseArn: `arn:${tier}`,
    accountId: '210987654321',
    productCode: 'quarry',
    customerId: null,
  } as const;
  return { offer, organizationId, boundAt: now, endedAt, tier, granted: null, hour: 0, carried: {} };
}

/** Writes a record in the format of versions that did not store grants. */
async function writeUnrecorded(store: MemoryStore, tier: Tier): Promise<void> {
  const records = new Organizations(store);
  const { grantedTier: _, ...rest } = records.find(organizationId) as Organization;
  await store.write(records.update({ ...rest, tier }));
}

t.test('the highest of the granted, paid and bought tier applies, in any order of events', async (t) => {
  for (const granted of tierNames)
    for (const paid of tierNames)
      for (const bought of tierNames) {
        const best = tierNames[Math.max(...[granted, paid, bought].map((tier) => tierNames.indexOf(tier)))]!;
        for (const isGrantLast of [true, false]) {
          const { tiers, subscribe, buy, tier } = await build();
          const grant = () => tiers.grant(organizationId, { grantedTier: granted }, testActor);
          if (!isGrantLast) await grant();
          await subscribe(paid);
          await tiers.apply(organizationId, testActor);
          await buy(bought);
          await tiers.apply(organizationId, testActor);
          if (isGrantLast) await grant();
          if (tier() !== best) t.fail(`${granted}, ${paid}, ${bought}: ${tier()} instead of ${best}`);
        }
      }
});

t.test('when a source ends, the highest remaining tier applies', async (t) => {
  const { tiers, subscribe, buy, tier } = await build();
  await tiers.grant(organizationId, { grantedTier: 'starter' }, testActor);
  await buy('enterprise');
  await subscribe('teams');
  t.same(await tiers.apply(organizationId, testActor), { from: 'starter', to: 'enterprise' });
  await buy('enterprise', now);
  t.same(await tiers.apply(organizationId, testActor), { from: 'enterprise', to: 'teams' });
  await subscribe('teams', 'canceled');
  t.same(await tiers.apply(organizationId, testActor), { from: 'teams', to: 'starter' });
  t.equal(await tiers.apply(organizationId, testActor), null, 'nothing changed');
  await tiers.grant(organizationId, { grantedTier: 'free' }, testActor);
  t.equal(tier(), 'free');
});

t.test('concurrent changes result in the highest tier', async (t) => {
  const { tiers, subscribe, buy, tier } = await build();
  await Promise.all([
    tiers.grant(organizationId, { grantedTier: 'free' }, testActor),
    subscribe('starter').then(() => tiers.apply(organizationId, testActor)),
    buy('teams').then(() => tiers.apply(organizationId, testActor)),
    tiers.grant(organizationId, { grantedTier: 'starter' }, testActor),
  ]);
  t.equal(tier(), 'teams');
});

t.test('a price that matches no tier changes nothing', async (t) => {
  const { tiers, subscribe, tier } = await build();
  await subscribe('teams');
  await tiers.apply(organizationId, testActor);
  await subscribe(null);
  t.equal(await tiers.apply(organizationId, testActor), null);
  t.equal(tier(), 'teams');
});

t.test('without Stripe a subscription counts until the end of the paid period', async (t) => {
  const { tiers, clock, subscribe, tier } = await build(false);
  await subscribe('teams');
  await tiers.grant(organizationId, { grantedTier: 'free' }, testActor);
  t.equal(tier(), 'teams');
  await clock.advance(monthMs);
  await tiers.grant(organizationId, { grantedTier: 'free' }, testActor);
  t.equal(tier(), 'free');
});

t.test('tiers granted by an earlier build are recorded at startup', async (t) => {
  const cases: readonly [string, Tier, Tier, { subscribed?: Tier; bought?: Tier }][] = [
    ['granted alone', 'teams', 'teams', {}],
    ['paid for', 'starter', 'free', { subscribed: 'starter' }],
    ['bought', 'teams', 'free', { bought: 'teams' }],
    ['enterprise, which is not for sale here', 'enterprise', 'enterprise', { subscribed: 'starter' }],
  ];
  for (const [what, tier, granted, { subscribed, bought }] of cases) {
    const { store, organizations, tiers, subscribe, buy } = await build();
    if (subscribed !== undefined) await subscribe(subscribed);
    if (bought !== undefined) await buy(bought);
    await writeUnrecorded(store, tier);
    await tiers.backfillGrantedTiers();
    t.match(organizations.get(organizationId), { grantedTier: granted, tier }, what);
    t.equal(tiers.grantedTierOf(organizationId), granted);
  }
});
