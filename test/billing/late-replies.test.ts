import { mock } from 'node:test';
import Stripe from 'stripe';
import type { BillingContext } from '../../src/billing/billing.ts';
import { EffectiveTiers } from '../../src/billing/effective-tiers.ts';
import { loadPlans } from '../../src/billing/plans.ts';
import { StripeBilling } from '../../src/billing/stripe-billing.ts';
import { AppError } from '../../src/core/app-error.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { BillingRecords } from '../../src/storage/billing.ts';
import { MarketplaceRecords } from '../../src/storage/marketplaces.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import type { WriteOperation, WriteOptions } from '../../src/storage/store.ts';
import { accountComponents, testActor } from '../accounts/account-components.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import { StripeEmulator } from '../support/stripe-emulator/emulator.ts';
import { createTierCatalog } from '../support/stripe-emulator/tier-catalog.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';

/**
 * The deadline of a billing change passes after each of its writes in turn. The client gets the outcome, or a
 * 503, and then the outcome when it repeats its request.
 */

t.setTimeout(testFileMsMax);
const startSeconds = Date.UTC(2027, 2, 10, 12) / 1_000;
const replyMsMax = 1_000;
const request = { organization_id: 'the id of the context counts' };

/** Store that reports each completed write. */
class ObservedStore extends MemoryStore {
  onWritten: () => void = () => {};

  override async write(operations: readonly WriteOperation[], options?: WriteOptions): Promise<void> {
    await super.write(operations, options);
    this.onWritten();
  }
}

class BillingHarness {
  readonly stripe: Stripe;
  readonly billing: StripeBilling;
  readonly #store = new ObservedStore();
  readonly #accounts;

  private constructor(emulator: StripeEmulator) {
    const { hostname: host, port } = new URL(emulator.url);
    this.stripe = new Stripe(emulator.secretKey, {
      host,
      port: Number(port),
      protocol: 'http',
      maxNetworkRetries: 0,
      telemetry: false,
    });
    const store = this.#store;
    const clock = new FakeClock({ wall: startSeconds * 1_000 });
    this.#accounts = accountComponents(store, { clock });
    const { organizations, audit, random } = this.#accounts;
    this.billing = new StripeBilling({
      stripe: this.stripe,
      store,
      organizations,
      audit,
      clock,
      random,
      replyMsMax,
      webhookSecret: null,
      plans: loadPlans(null),
      logger: silentLogger,
      tiers: new EffectiveTiers({
        organizations,
        clock,
        isBillingEnabled: true,
        billing: new BillingRecords(store),
        agreements: new MarketplaceRecords(store),
      }),
      limits: { forOrganization: () => ({}) as never, forTier: () => ({}) as never },
      readUsedMinutes: async () => [],
      flushUsage: async () => {},
      promoCodeLimiter: { consume: () => {} },
      isMeteredByMarketplace: async () => false,
      publicUrl: () => 'https://quarry.example.com',
      readContactEmail: async () => null,
      defaultReturnUrl: '/',
    });
  }

  static async start(t: Test): Promise<BillingHarness> {
    const emulator = await StripeEmulator.start({ startSeconds, isFrozen: true });
    t.teardown(() => emulator.stop());
    const harness = new BillingHarness(emulator);
    await createTierCatalog(harness.stripe);
    const coupon = await harness.stripe.coupons.create({
      duration: 'once',
      amount_off: 700,
      currency: 'usd',
    });
    await harness.stripe.promotionCodes.create({
      code: 'LATE',
      promotion: { type: 'coupon', coupon: coupon.id },
    });
    return harness;
  }

  async createOrganization(): Promise<BillingContext> {
    const { organizations, random } = this.#accounts;
    const organization = await organizations.create(random.uuid(), testActor);
    return { organization, by: testActor };
  }

  async subscribe(context: BillingContext, tier: 'starter' | 'teams', token = 'tok_visa'): Promise<unknown> {
    const card = await this.stripe.paymentMethods.create({ type: 'card', card: { token } });
    return this.billing.subscribe(context, { ...request, tier, payment_method_id: card.id });
  }

  /** Runs a change whose deadline passes after its write number `lateAfter`; counts the writes. */
  async run(
    context: BillingContext,
    change: LateChange['change'],
    lateAfter = 0,
  ): Promise<{ readonly status: number; readonly writes: number }> {
    let writes = 0;
    mock.timers.enable({ apis: ['setTimeout'] });
    this.#store.onWritten = () => {
      writes += 1;
      if (writes === lateAfter) mock.timers.tick(replyMsMax);
    };
    let work: Promise<unknown> = Promise.resolve();
    const reply = this.billing.withDeadline(context.organization.organizationId, (deadline) => {
      work = change(this.billing, { ...context, deadline });
      return work;
    });
    const status = await reply.then(
      () => 200,
      (error: unknown) => (error instanceof AppError ? error.status : Promise.reject(error)),
    );
    await work.catch(() => undefined);
    this.#store.onWritten = () => {};
    mock.timers.reset();
    return { status, writes };
  }
}

/** State before a change, and the change. */
interface LateChange {
  readonly prepare: (harness: BillingHarness, context: BillingContext) => Promise<unknown>;
  readonly change: (billing: StripeBilling, context: BillingContext) => Promise<unknown>;
}

/** Changes whose repetition is an error for a client that has their outcome. */
const changes: Readonly<Record<string, LateChange>> = {
  upgrade: {
    prepare: (harness, context) => harness.subscribe(context, 'starter'),
    change: (billing, context) => billing.subscribe(context, { ...request, tier: 'teams' }),
  },
  'cancel-upgrade': {
    prepare: (harness, context) => harness.subscribe(context, 'teams', 'tok_authenticationRequired'),
    change: (billing, context) => billing.cancelUpgrade(context, request),
  },
  'cancel-downgrade': {
    prepare: async (harness, context) => {
      await harness.subscribe(context, 'teams');
      await harness.billing.downgrade(context, { ...request, tier: 'starter' });
    },
    change: (billing, context) => billing.cancelDowngrade(context, request),
  },
  'redeem-code': {
    prepare: async () => undefined,
    change: (billing, context) => billing.redeemCode(context, { ...request, code: 'LATE' }),
  },
};

for (const [name, { prepare, change }] of Object.entries(changes)) {
  t.test(`${name}: a client that gets no reply gets the outcome when it repeats the request`, async (t) => {
    const harness = await BillingHarness.start(t);
    const statuses = new Set<number>();
    for (let lateAfter = 1, count = Number.POSITIVE_INFINITY; lateAfter <= count; lateAfter += 1) {
      const context = await harness.createOrganization();
      await prepare(harness, context);
      const first = await harness.run(context, change, lateAfter);
      count = first.writes;
      statuses.add(first.status);
      if (first.status === 200) continue;
      const repeated = [await harness.run(context, change), await harness.run(context, change)];
      t.same(
        repeated.map(({ status }) => status),
        [200, 400],
        `after write ${lateAfter}, the repetition gets the outcome, and a further request its error`,
      );
    }
    t.same(statuses, new Set([503, 200]), 'the deadline passes before and after the end of the change');
  });
}
