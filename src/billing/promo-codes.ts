import type Stripe from 'stripe';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type { RedeemCodeResponse } from '../schemas/billing.ts';
import { type BillingRecords, couponKey, type Redemption } from '../storage/billing.ts';
import type { BillingAccount } from '../storage/billing-account.ts';
import type { Organization } from '../storage/organizations.ts';
import type { Store } from '../storage/store.ts';
import type { BillingContext } from './billing.ts';
import type { BillingChange, BillingSync } from './billing-sync.ts';
import { idOf, type PriceCatalogReader } from './price-catalog.ts';
import { mapStripeErrors } from './stripe.ts';
import type { IdempotentStripeCalls } from './stripe-calls.ts';
import type { StripeCustomers } from './stripe-customers.ts';

/** Limits the rate of redemption attempts. */
export interface PromoCodeLimiter {
  /** Errors: 429 with the time to wait. */
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

/** Redemption limit, and number of redemptions in Stripe. */
interface RedemptionLimit {
  /** Key under which redemptions are counted locally. */
  readonly codeOrCoupon: string;
  readonly max: number | null | undefined;
  readonly redeemedAtStripe: number | undefined;
}

const alreadyRedeemed = 'already redeemed';

/** Value of a code, or the reason why it has none. */
type CodeValue =
  | {
      readonly amount: number;
      readonly currency: string;
      readonly couponId: string;
      readonly limits: RedemptionLimit[];
    }
  | { readonly reason: string };

/**
 * Converts promo codes into customer credit, each code once per organization. The redemption is written
 * before the credit is created, and the credit names the redemption, so a crash in between neither loses nor
 * doubles the credit.
 */
export class PromoCodes {
  readonly #options: PromoCodesOptions;
  /** Reservations run one after another, so that the last use of a code is granted only once. */
  #reservations: Promise<unknown> = Promise.resolve();

  constructor(options: PromoCodesOptions) {
    this.#options = options;
  }

  async redeem({ organization, by, deadline }: BillingContext, code: string): Promise<RedeemCodeResponse> {
    const { promoCodeLimiter, sync } = this.#options;
    const { organizationId } = organization;
    promoCodeLimiter.consume({ organizationId, by });
    const work = async ({ account, reread, deadline }: BillingChange) => {
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
      if (deadline.meet()) await this.#putRedemption(organizationId, { ...redemption, state: 'told' });
      return {
        credit_cents: redemption.amount,
        currency: redemption.currency,
        credit_balance_cents: copy?.creditBalance ?? redemption.amount,
        message: 'The code was redeemed.',
      };
    };
    return sync().runChange(organizationId, null, work, { deadline });
  }

  /** Creates the credit of redemptions that a crash interrupted. */
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

  /** Reserves a use of a code if the code has a value. */
  async #reserveUse(
    { organizationId }: Organization,
    found: Stripe.PromotionCode,
    account: BillingAccount,
  ): Promise<Redemption | { readonly reason: string }> {
    const value = await this.#valueOf(found, account);
    if ('reason' in value) return value;
    return (await this.#reserve(organizationId, found.id, value)) ?? { reason: 'fully redeemed' };
  }

  /**
   * Finds a code. Stripe may have several with the same text, each restricted to one customer: prefers the
   * one of this customer, then the unrestricted one. An inactive code is found only if the organization
   * redeemed it.
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
        // Stripe returns `applies_to` only when it is expanded.
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
    if (typeof coupon !== 'object' || coupon === null) return { reason: 'has no coupon' };
    const { amount_off: amount = null, currency = null } = coupon;
    const now = clock.now() / 1_000;
    if (!found.active || !coupon.valid) return { reason: 'inactive' };
    if ((found.expires_at ?? Infinity) <= now) return { reason: 'expired' };
    if (amount === null || amount <= 0 || currency === null) return { reason: 'has no fixed amount' };
    const expected = copy?.currency ?? catalog.plans.currency;
    if (currency !== expected) return { reason: `currency ${currency} instead of ${expected}` };
    if (found.customer && idOf(found.customer) !== customerId)
      return { reason: 'restricted to another customer' };
    const hasPaid = copy?.invoices.some(({ amountPaid }) => amountPaid > 0) === true;
    if (found.restrictions?.first_time_transaction && hasPaid)
      return { reason: 'restricted to first payments' };
    // Credit is granted before any purchase, so a minimum amount could not be enforced.
    if (found.restrictions?.minimum_amount) return { reason: 'requires a minimum amount' };
    if (!(await this.#coversAllProducts(coupon))) return { reason: 'restricted to certain products' };
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

  /** Credit pays any invoice, so it cannot be restricted to a product as a discount can. */
  async #coversAllProducts({ applies_to: appliesTo }: Stripe.Coupon): Promise<boolean> {
    const productIds = appliesTo?.products ?? [];
    if (productIds.length === 0) return true;
    const { productIds: products } = await this.#options.catalog.read();
    return [...products].every((product) => productIds.includes(product));
  }

  /**
   * Reserves a use of the code. Returns null if the code, or its coupon across all codes, is used up. Stripe
   * does not count credits as redemptions, so they are counted here.
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
   * Rejects all codes without value with the same message, so that guessing reveals nothing; owners can read
   * the reason in the audit log. A code that the organization itself redeemed is reported as such.
   */
  async #reject(organizationId: string, by: Actor, reason: string): Promise<never> {
    const action = 'billing.code_refused';
    await this.#options.audit.record({ ...by, organizationId, action, target: null, details: { reason } });
    throw new AppError(
      'bad_request',
      reason === alreadyRedeemed
        ? 'This organization has already redeemed this code.'
        : 'This code does not exist, has expired, or is fully redeemed.',
    );
  }
}
