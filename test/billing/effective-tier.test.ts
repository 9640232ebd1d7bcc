import t from 'tap';
import { EffectiveTiers } from '../../src/billing/effective-tier.ts';
import { BillingRecords } from '../../src/store/billing.ts';
import { type Agreement, MarketplaceRecords } from '../../src/store/marketplaces.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import {
  type Organisation,
  Organisations,
  type Tier,
  tiers as tierNames,
} from '../../src/store/organisations.ts';
import { accountRooms, byTest } from '../accounts/rooms.ts';
import { FakeTime } from '../admission/fake-time.ts';

const organizationId = 'aaaaaaaa-1111-4111-8111-111111111111';
const now = Date.UTC(2027, 2, 10);
const monthMs = 30 * 86_400_000;

async function build(takesPayments = true) {
  const store = new MemoryStore();
  const clock = new FakeTime({ wall: now });
  const { organisations } = accountRooms(store, { clock });
  const [billing, agreements] = [new BillingRecords(store), new MarketplaceRecords(store)];
  await organisations.create(organizationId, byTest);
  const tiers = new EffectiveTiers({ organisations, billing, agreements, clock, takesPayments });
  const subscribe = (tier: Tier | null, status = 'active') => {
    const account = billing.account(organizationId);
    const copy = {
      subscription: { tier, status, periodEnd: now + monthMs },
    } as unknown as typeof account.copy;
    return store.write(billing.putAccount(organizationId, { ...account, ownsTier: true, copy }));
  };
  const buy = (tier: Tier, endedAt: number | null = null) =>
    store.write(agreements.put(agreementOf(tier, endedAt)));
  return {
    store,
    clock,
    organisations,
    tiers,
    subscribe,
    buy,
    tier: () => organisations.get(organizationId).tier,
  };
}

function agreementOf(tier: Tier, endedAt: number | null): Agreement {
  const offer = {
    marketplace: 'aws',
    ...{ licenseArn: `arn:${tier}`, accountId: '210987654321' },
    ...{ productCode: 'quarry', customerId: null },
  } as const;
  return { offer, organizationId, boundAt: now, endedAt, tier, granted: null, hour: 0, carried: {} };
}

/** As builds before grants were recorded wrote it. */
async function writeUnrecorded(store: MemoryStore, tier: Tier): Promise<void> {
  const records = new Organisations(store);
  const { grantedTier: _, ...rest } = records.get(organizationId) as Organisation;
  await store.write(records.update({ ...rest, tier }));
}

t.test('the best of granted, paid and bought applies, in whatever order they come', async (t) => {
  for (const granted of tierNames)
    for (const paid of tierNames)
      for (const bought of tierNames) {
        const best = tierNames[Math.max(...[granted, paid, bought].map((tier) => tierNames.indexOf(tier)))]!;
        for (const isGrantLast of [true, false]) {
          const { tiers, subscribe, buy, tier } = await build();
          const grant = () => tiers.grant(organizationId, { grantedTier: granted }, byTest);
          if (!isGrantLast) await grant();
          await subscribe(paid);
          await tiers.apply(organizationId, byTest);
          await buy(bought);
          await tiers.apply(organizationId, byTest);
          if (isGrantLast) await grant();
          if (tier() !== best) t.fail(`${granted}, ${paid}, ${bought}: ${tier()} instead of ${best}`);
        }
      }
});

t.test('what ends leaves the best of the rest', async (t) => {
  const { tiers, subscribe, buy, tier } = await build();
  await tiers.grant(organizationId, { grantedTier: 'starter' }, byTest);
  await buy('enterprise');
  await subscribe('teams');
  t.same(await tiers.apply(organizationId, byTest), { from: 'starter', to: 'enterprise' });
  await buy('enterprise', now);
  t.same(await tiers.apply(organizationId, byTest), { from: 'enterprise', to: 'teams' });
  await subscribe('teams', 'canceled');
  t.same(await tiers.apply(organizationId, byTest), { from: 'teams', to: 'starter' });
  t.equal(await tiers.apply(organizationId, byTest), null, 'nothing changed');
  await tiers.grant(organizationId, { grantedTier: 'free' }, byTest);
  t.equal(tier(), 'free');
});

t.test('changes at the same moment end with the best of all', async (t) => {
  const { tiers, subscribe, buy, tier } = await build();
  await Promise.all([
    tiers.grant(organizationId, { grantedTier: 'free' }, byTest),
    subscribe('starter').then(() => tiers.apply(organizationId, byTest)),
    buy('teams').then(() => tiers.apply(organizationId, byTest)),
    tiers.grant(organizationId, { grantedTier: 'starter' }, byTest),
  ]);
  t.equal(tier(), 'teams');
});

t.test('a price of no tier changes nothing by itself', async (t) => {
  const { tiers, subscribe, tier } = await build();
  await subscribe('teams');
  await tiers.apply(organizationId, byTest);
  await subscribe(null);
  t.equal(await tiers.apply(organizationId, byTest), null);
  t.equal(tier(), 'teams');
});

t.test('without Stripe a subscription counts until the end of what was paid for', async (t) => {
  const { tiers, clock, subscribe, tier } = await build(false);
  await subscribe('teams');
  await tiers.grant(organizationId, { grantedTier: 'free' }, byTest);
  t.equal(tier(), 'teams');
  await clock.advance(monthMs);
  await tiers.grant(organizationId, { grantedTier: 'free' }, byTest);
  t.equal(tier(), 'free');
});

t.test('what an earlier build granted without recording it is recorded at the start', async (t) => {
  const cases: readonly [string, Tier, Tier, { subscribed?: Tier; bought?: Tier }][] = [
    ['granted alone', 'teams', 'teams', {}],
    ['paid for', 'starter', 'free', { subscribed: 'starter' }],
    ['bought', 'teams', 'free', { bought: 'teams' }],
    ['enterprise, which nobody sells here', 'enterprise', 'enterprise', { subscribed: 'starter' }],
  ];
  for (const [what, tier, granted, { subscribed, bought }] of cases) {
    const { store, organisations, tiers, subscribe, buy } = await build();
    if (subscribed !== undefined) await subscribe(subscribed);
    if (bought !== undefined) await buy(bought);
    await writeUnrecorded(store, tier);
    await tiers.recordGrants();
    t.match(organisations.get(organizationId), { grantedTier: granted, tier }, what);
    t.equal(tiers.grantedTo(organizationId), granted);
  }
});
