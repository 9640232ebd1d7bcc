import type Stripe from 'stripe';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { RedeemCodeResponse } from '../schemas/billing.ts';
import { type BillingAccount, type BillingRecords, couponOf, type Redemption } from '../store/billing.ts';
import type { Organisation } from '../store/organisations.ts';
import type { Store } from '../store/store.ts';
import type { StripeCalls } from './calls.ts';
import { type CatalogueReader, idOf } from './catalogue.ts';
import type { Customers } from './customers.ts';
import { asking } from './stripe.ts';
import type { BillingSync } from './sync.ts';

/** Refuses who tries too often. */
export interface Guesses {
  /** 429 with the time to wait. */
  take(guess: { readonly organizationId: string; readonly by: Actor }): void;
}

export interface PromotionsOptions {
  readonly stripe: Stripe;
  readonly store: Store;
  readonly records: BillingRecords;
  readonly calls: StripeCalls;
  readonly catalogue: CatalogueReader;
  readonly customers: Customers;
  readonly sync: () => BillingSync;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly guesses: Guesses;
}

/** How often something may be used, and how often it was at Stripe. */
interface Uses {
  /** What its uses are counted under here. */
  readonly of: string;
  readonly most: number | null | undefined;
  readonly used: number | undefined;
}

const redeemedAlready = 'redeemed already';

/** What a code is worth, or why it is worth nothing. */
type Worth =
  | { readonly amount: number; readonly currency: string; readonly couponId: string; readonly limits: Uses[] }
  | { readonly reason: string };

/**
 * Turns promo codes into credit of the customer, each once for an organisation. That it is redeemed is written before
 * the credit is made, and the credit names the redemption, so that a crash in between loses and doubles nothing.
 */
export class Promotions {
  readonly #options: PromotionsOptions;
  /** Codes are counted one after another, so that the last use is given once. */
  #counting: Promise<unknown> = Promise.resolve();

  constructor(options: PromotionsOptions) {
    this.#options = options;
  }

  async redeem(organisation: Organisation, code: string, by: Actor): Promise<RedeemCodeResponse> {
    const { guesses, sync } = this.#options;
    const { organizationId } = organisation;
    guesses.take({ organizationId, by });
    return sync().change(organizationId, null, async ({ account, reread, isAwaited }) => {
      const found = await this.#find(code, organizationId, account.customerId);
      const refuse = (reason: string) => this.#refuse(organizationId, by, reason);
      if (found === null) return refuse('unknown');
      const known = this.#options.records.redemption(organizationId, found.id);
      if (known?.state === 'told') return refuse(redeemedAlready);
      const redemption = known ?? (await this.#taken(organisation, found, account));
      if ('reason' in redemption) return refuse(redemption.reason);
      const customer = await this.#options.customers.customerOf(organisation);
      await this.#apply(organizationId, customer, redemption, by);
      const { copy } = await reread();
      if (isAwaited()) await this.#put(organizationId, { ...redemption, state: 'told' });
      return {
        credit_cents: redemption.amount,
        currency: redemption.currency,
        credit_balance_cents: copy?.creditBalance ?? redemption.amount,
        message: 'The code was redeemed.',
      };
    });
  }

  /** Makes the credit of redemptions that a crash cut off. */
  async finish(organizationId: string, { customerId }: BillingAccount): Promise<boolean> {
    if (customerId === null) return false;
    const { records } = this.#options;
    const pending = (await records.redemptionsOf(organizationId)).filter(({ state }) => state === 'pending');
    for (const redemption of pending)
      await this.#apply(organizationId, customerId, redemption, { actor: 'system', address: null });
    return pending.length > 0;
  }

  /** A use of a code that is worth something. */
  async #taken(
    { organizationId }: Organisation,
    found: Stripe.PromotionCode,
    account: BillingAccount,
  ): Promise<Redemption | { readonly reason: string }> {
    const worth = await this.#worthOf(found, account);
    if ('reason' in worth) return worth;
    return (await this.#reserve(organizationId, found.id, worth)) ?? { reason: 'used up' };
  }

  /**
   * Of one code there may be several at Stripe, each for a customer of its own: theirs, or the one that is for all. One that
   * is no longer active is found by an organization that redeemed it.
   */
  async #find(
    code: string,
    organizationId: string,
    customerId: string | null,
  ): Promise<Stripe.PromotionCode | null> {
    if (!/^[\w-]{1,500}$/.test(code)) return null;
    const { data } = await asking(() =>
      this.#options.stripe.promotionCodes.list({
        code,
        limit: 100,
        // What a coupon applies to is only told to who asks for it.
        expand: ['data.promotion.coupon.applies_to'],
      }),
    );
    const usable = data.filter(({ active }) => active);
    const ownerOf = ({ customer }: Stripe.PromotionCode) => (customer ? idOf(customer) : null);
    const own = customerId === null ? undefined : usable.find((one) => ownerOf(one) === customerId);
    const isRedeemed = ({ id }: Stripe.PromotionCode) =>
      this.#options.records.redemption(organizationId, id) !== undefined;
    return own ?? usable.find((one) => ownerOf(one) === null) ?? usable[0] ?? data.find(isRedeemed) ?? null;
  }

  async #worthOf(found: Stripe.PromotionCode, { customerId, copy }: BillingAccount): Promise<Worth> {
    const { catalogue, clock } = this.#options;
    const coupon = found.promotion.coupon;
    if (typeof coupon !== 'object' || coupon === null) return { reason: 'no coupon' };
    const { amount_off: amount = null, currency = null } = coupon;
    const now = clock.now() / 1_000;
    if (!found.active || !coupon.valid) return { reason: 'inactive' };
    if ((found.expires_at ?? Infinity) <= now) return { reason: 'expired' };
    if (amount === null || amount <= 0 || currency === null) return { reason: 'no amount' };
    const expected = copy?.currency ?? catalogue.plans.currency;
    if (currency !== expected) return { reason: `currency ${currency} instead of ${expected}` };
    if (found.customer && idOf(found.customer) !== customerId) return { reason: 'for another customer' };
    const hasPaid = copy?.invoices.some(({ amountPaid }) => amountPaid > 0) === true;
    if (found.restrictions?.first_time_transaction && hasPaid) return { reason: 'for first payments only' };
    // Credit is given before anything is bought, so that nobody could hold it to a smallest purchase.
    if (found.restrictions?.minimum_amount) return { reason: 'for a smallest amount' };
    if (!(await this.#isForEverything(coupon))) return { reason: 'for some products only' };
    const limits = [
      { of: found.id, most: found.max_redemptions, used: found.times_redeemed },
      { of: couponOf(coupon.id), most: coupon.max_redemptions, used: coupon.times_redeemed },
    ];
    return { amount, currency, couponId: coupon.id, limits };
  }

  /** Credit pays whatever comes: nobody could hold it to one product, as Stripe holds a discount. */
  async #isForEverything({ applies_to: appliesTo }: Stripe.Coupon): Promise<boolean> {
    const named = appliesTo?.products ?? [];
    if (named.length === 0) return true;
    const { products } = await this.#options.catalogue.read();
    return [...products].every((product) => named.includes(product));
  }

  /**
   * A use of the code, or null when all of it, or of its coupon by whichever code, are used up: credits do not count at
   * Stripe, so they are counted here.
   */
  #reserve(
    organizationId: string,
    promotionCodeId: string,
    { amount, currency, couponId, limits: uses }: Extract<Worth, { amount: number }>,
  ): Promise<Redemption | null> {
    const { store, records, chance, clock } = this.#options;
    const reserving = this.#counting.then(async () => {
      for (const { of, most, used = 0 } of uses) {
        if (most === null || most === undefined) continue;
        if (used + (await records.redeemersOf(of, most)) >= most) return null;
      }
      const redemptionId = chance.uuid();
      const at = clock.now();
      const given = { redemptionId, promotionCodeId, couponId, amount, currency };
      const redemption: Redemption = { ...given, state: 'pending', at };
      await store.write(records.putRedemption(organizationId, redemption));
      return redemption;
    });
    this.#counting = reserving.catch(() => undefined);
    return reserving;
  }

  async #apply(organizationId: string, customer: string, redemption: Redemption, by: Actor): Promise<void> {
    if (redemption.state !== 'pending') return;
    const { stripe, store, records, calls, audit } = this.#options;
    const { redemptionId, promotionCodeId, amount, currency } = redemption;
    if (!(await this.#isCredited(customer, redemptionId))) {
      await calls.run({ organizationId, name: `redeem:${redemptionId}` }, (options) =>
        stripe.customers.createBalanceTransaction(
          customer,
          {
            amount: -amount,
            currency,
            metadata: { redemption_id: redemptionId, promotion_code: promotionCodeId },
          },
          options,
        ),
      );
    }
    const entry = { ...by, organizationId, action: 'billing.code_redeemed', target: promotionCodeId };
    await store.write(
      [
        ...records.putRedemption(organizationId, { ...redemption, state: 'applied' }),
        audit.entry({ ...entry, details: { amount, currency } }),
      ],
      { mayUseReserve: true },
    );
  }

  async #put(organizationId: string, redemption: Redemption): Promise<void> {
    const { store, records } = this.#options;
    await store.write(records.putRedemption(organizationId, redemption), { mayUseReserve: true });
  }

  async #isCredited(customer: string, redemptionId: string): Promise<boolean> {
    const transactions = this.#options.stripe.customers.listBalanceTransactions(customer, { limit: 100 });
    return asking(async () => {
      let looked = 0;
      for await (const { metadata } of transactions) {
        if (metadata?.redemption_id === redemptionId) return true;
        looked += 1;
        if (looked >= limits.balanceTransactionsMax) break;
      }
      return false;
    });
  }

  /**
   * One sentence for every code that is worth nothing, so that guesses tell nothing; the owners read the reason in the
   * audit log. What the organization redeemed itself it may know.
   */
  async #refuse(organizationId: string, by: Actor, reason: string): Promise<never> {
    const action = 'billing.code_refused';
    await this.#options.audit.record({ ...by, organizationId, action, target: null, details: { reason } });
    throw new AppError(
      'bad_request',
      reason === redeemedAlready
        ? 'This organization has redeemed this code already; a code counts once.'
        : 'This code does not exist, has expired, or was used up.',
    );
  }
}
