import type Stripe from 'stripe';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type { RedeemCodeResponse } from '../schemas/billing.ts';
import { type BillingAccount, type BillingRecords, couponKey, type Redemption } from '../storage/billing.ts';
import type { Organization } from '../storage/organizations.ts';
import type { Store } from '../storage/store.ts';
import type { BillingSync } from './billing-sync.ts';
import { idOf, type PriceCatalogReader } from './price-catalog.ts';
import { mapStripeErrors } from './stripe.ts';
import type { IdempotentStripeCalls } from './stripe-calls.ts';
import type { StripeCustomers } from './stripe-customers.ts';

/** Refuses who tries too often. */
export interface PromoCodeLimiter {
  /** 429 with the time to wait. */
  consume(attempt: { readonly organizationId: string; readonly by: Actor }): void;
}

export interface PromoCodesOptions {
  readonly stripe: Stripe;
  readonly store: Store;
  readonly records: BillingRecords;
  readonly calls: IdempotentStripeCalls;
  readonly catalog: PriceCatalogReader;
  readonly customers: StripeCustomers;
  readonly sync: () => BillingSync;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly random: Random;
  readonly promoCodeLimiter: PromoCodeLimiter;
}

/** How often something may be used, and how often it was at Stripe. */
interface RedemptionLimit {
  /** What its uses are counted under here. */
  readonly codeOrCoupon: string;
  readonly max: number | null | undefined;
  readonly redeemedAtStripe: number | undefined;
}

const alreadyRedeemed = 'redeemed already';

/** What a code is worth, or why it is worth nothing. */
type CodeValue =
  | {
      readonly amount: number;
      readonly currency: string;
      readonly couponId: string;
      readonly limits: RedemptionLimit[];
    }
  | { readonly reason: string };

/**
 * Turns promo codes into credit of the customer, each once for an organisation. That it is redeemed is written before
 * the credit is made, and the credit names the redemption, so that a crash in between loses and doubles nothing.
 */
export class PromoCodes {
  readonly #options: PromoCodesOptions;
  /** Codes are counted one after another, so that the last use is given once. */
  #reservations: Promise<unknown> = Promise.resolve();

  constructor(options: PromoCodesOptions) {
    this.#options = options;
  }

  async redeem(organization: Organization, code: string, by: Actor): Promise<RedeemCodeResponse> {
    const { promoCodeLimiter, sync } = this.#options;
    const { organizationId } = organization;
    promoCodeLimiter.consume({ organizationId, by });
    return sync().runChange(organizationId, null, async ({ account, reread, isClientWaiting: isAwaited }) => {
      const found = await this.#find(code, organizationId, account.customerId);
      const reject = (reason: string) => this.#reject(organizationId, by, reason);
      if (found === null) return reject('unknown');
      const known = this.#options.records.findRedemption(organizationId, found.id);
      if (known?.state === 'told') return reject(alreadyRedeemed);
      const redemption = known ?? (await this.#reserveUse(organization, found, account));
      if ('reason' in redemption) return reject(redemption.reason);
      const customer = await this.#options.customers.ensureCustomer(organization);
      await this.#applyCredit(organizationId, customer, redemption, by);
      const { copy } = await reread();
      if (isAwaited()) await this.#putRedemption(organizationId, { ...redemption, state: 'told' });
      return {
        credit_cents: redemption.amount,
        currency: redemption.currency,
        credit_balance_cents: copy?.creditBalance ?? redemption.amount,
        message: 'The code was redeemed.',
      };
    });
  }

  /** Makes the credit of redemptions that a crash cut off. */
  async finishPending(organizationId: string, { customerId }: BillingAccount): Promise<boolean> {
    if (customerId === null) return false;
    const { records } = this.#options;
    const pending = (await records.listRedemptions(organizationId)).filter(
      ({ state }) => state === 'pending',
    );
    for (const redemption of pending)
      await this.#applyCredit(organizationId, customerId, redemption, { actor: 'system', address: null });
    return pending.length > 0;
  }

  /** A use of a code that is worth something. */
  async #reserveUse(
    { organizationId }: Organization,
    found: Stripe.PromotionCode,
    account: BillingAccount,
  ): Promise<Redemption | { readonly reason: string }> {
    const value = await this.#valueOf(found, account);
    if ('reason' in value) return value;
    return (await this.#reserve(organizationId, found.id, value)) ?? { reason: 'used up' };
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
    const { data } = await mapStripeErrors(() =>
      this.#options.stripe.promotionCodes.list({
        code,
        limit: 100,
        // What a coupon applies to is only told to who asks for it.
        expand: ['data.promotion.coupon.applies_to'],
      }),
    );
    const usable = data.filter(({ active }) => active);
    const ownerOf = ({ customer }: Stripe.PromotionCode) => (customer ? idOf(customer) : null);
    const ownCode =
      customerId === null ? undefined : usable.find((promotionCode) => ownerOf(promotionCode) === customerId);
    const isRedeemed = ({ id }: Stripe.PromotionCode) =>
      this.#options.records.findRedemption(organizationId, id) !== undefined;
    return (
      ownCode ??
      usable.find((promotionCode) => ownerOf(promotionCode) === null) ??
      usable[0] ??
      data.find(isRedeemed) ??
      null
    );
  }

  async #valueOf(found: Stripe.PromotionCode, { customerId, copy }: BillingAccount): Promise<CodeValue> {
    const { catalog, clock } = this.#options;
    const coupon = found.promotion.coupon;
    if (typeof coupon !== 'object' || coupon === null) return { reason: 'no coupon' };
    const { amount_off: amount = null, currency = null } = coupon;
    const now = clock.now() / 1_000;
    if (!found.active || !coupon.valid) return { reason: 'inactive' };
    if ((found.expires_at ?? Infinity) <= now) return { reason: 'expired' };
    if (amount === null || amount <= 0 || currency === null) return { reason: 'no amount' };
    const expected = copy?.currency ?? catalog.plans.currency;
    if (currency !== expected) return { reason: `currency ${currency} instead of ${expected}` };
    if (found.customer && idOf(found.customer) !== customerId) return { reason: 'for another customer' };
    const hasPaid = copy?.invoices.some(({ amountPaid }) => amountPaid > 0) === true;
    if (found.restrictions?.first_time_transaction && hasPaid) return { reason: 'for first payments only' };
    // Credit is given before anything is bought, so that nobody could hold it to a smallest purchase.
    if (found.restrictions?.minimum_amount) return { reason: 'for a smallest amount' };
    if (!(await this.#coversAllProducts(coupon))) return { reason: 'for some products only' };
    const limits = [
      { codeOrCoupon: found.id, max: found.max_redemptions, redeemedAtStripe: found.times_redeemed },
      {
        codeOrCoupon: couponKey(coupon.id),
        max: coupon.max_redemptions,
        redeemedAtStripe: coupon.times_redeemed,
      },
    ];
    return { amount, currency, couponId: coupon.id, limits };
  }

  /** Credit pays whatever comes: nobody could hold it to one product, as Stripe holds a discount. */
  async #coversAllProducts({ applies_to: appliesTo }: Stripe.Coupon): Promise<boolean> {
    const productIds = appliesTo?.products ?? [];
    if (productIds.length === 0) return true;
    const { productIds: products } = await this.#options.catalog.read();
    return [...products].every((product) => productIds.includes(product));
  }

  /**
   * A use of the code, or null when all of it, or of its coupon by whichever code, are used up: credits do not count at
   * Stripe, so they are counted here.
   */
  #reserve(
    organizationId: string,
    promotionCodeId: string,
    { amount, currency, couponId, limits: uses }: Extract<CodeValue, { amount: number }>,
  ): Promise<Redemption | null> {
    const { store, records, random, clock } = this.#options;
    const reserving = this.#reservations.then(async () => {
      for (const { codeOrCoupon, max, redeemedAtStripe = 0 } of uses) {
        if (max === null || max === undefined) continue;
        if (redeemedAtStripe + (await records.countRedemptions(codeOrCoupon, max)) >= max) return null;
      }
      const redemptionId = random.uuid();
      const redeemedAt = clock.now();
      const fields = { redemptionId, promotionCodeId, couponId, amount, currency };
      const redemption: Redemption = { ...fields, state: 'pending', at: redeemedAt };
      await store.write(records.putRedemption(organizationId, redemption));
      return redemption;
    });
    this.#reservations = reserving.catch(() => undefined);
    return reserving;
  }

  async #applyCredit(
    organizationId: string,
    customer: string,
    redemption: Redemption,
    by: Actor,
  ): Promise<void> {
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
        audit.entryOperation({ ...entry, details: { amount, currency } }),
      ],
      { mayUseReserve: true },
    );
  }

  async #putRedemption(organizationId: string, redemption: Redemption): Promise<void> {
    const { store, records } = this.#options;
    await store.write(records.putRedemption(organizationId, redemption), { mayUseReserve: true });
  }

  async #isCredited(customer: string, redemptionId: string): Promise<boolean> {
    const transactions = this.#options.stripe.customers.listBalanceTransactions(customer, { limit: 100 });
    return mapStripeErrors(async () => {
      let scanned = 0;
      for await (const { metadata } of transactions) {
        if (metadata?.redemption_id === redemptionId) return true;
        scanned += 1;
        if (scanned >= limits.balanceTransactionsMax) break;
      }
      return false;
    });
  }

  /**
   * One sentence for every code that is worth nothing, so that guesses tell nothing; the owners read the reason in the
   * audit log. What the organization redeemed itself it may know.
   */
  async #reject(organizationId: string, by: Actor, reason: string): Promise<never> {
    const action = 'billing.code_refused';
    await this.#options.audit.record({ ...by, organizationId, action, target: null, details: { reason } });
    throw new AppError(
      'bad_request',
      reason === alreadyRedeemed
        ? 'This organization has redeemed this code already; a code counts once.'
        : 'This code does not exist, has expired, or was used up.',
    );
  }
}
