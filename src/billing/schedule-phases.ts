import type Stripe from 'stripe';
import { idOf } from './price-catalog.ts';

/**
 * Copies of schedule phases for updates. Updating a schedule replaces all of its phases, and omitted fields
 * are lost. Everything that the owner of the Stripe account may have added to a subscription by hand
 * (discounts, taxes, further items) is therefore copied, including into the next phase. The payment method is
 * not copied: charges go to the default method of the customer, which may have changed by then.
 */

type SchedulePhase = Stripe.SubscriptionSchedule.Phase;
type SchedulePhaseParams = Stripe.SubscriptionScheduleUpdateParams.Phase;

export function copyPhase(phase: SchedulePhase): SchedulePhaseParams {
  const { automatic_tax: tax, billing_thresholds: thresholds, invoice_settings: settings } = phase;
  return omitEmpty<SchedulePhaseParams>({
    items: phase.items.map(copyItem),
    automatic_tax:
      tax && omitEmpty({ enabled: tax.enabled, liability: tax.liability && copyAccount(tax.liability) }),
    billing_thresholds:
      thresholds &&
      omitEmpty({
        amount_gte: thresholds.amount_gte,
        reset_billing_cycle_anchor: thresholds.reset_billing_cycle_anchor,
      }),
    collection_method: phase.collection_method,
    default_tax_rates: phase.default_tax_rates?.map(idOf),
    description: phase.description,
    discounts: phase.discounts?.map(copyDiscount),
    invoice_settings:
      settings &&
      omitEmpty({
        account_tax_ids: settings.account_tax_ids?.map(idOf),
        custom_fields: settings.custom_fields,
        days_until_due: settings.days_until_due,
        description: settings.description,
        footer: settings.footer,
        issuer: settings.issuer && copyAccount(settings.issuer),
      }),
    metadata: phase.metadata,
  });
}

/** Returns the next phase: a copy with one price replaced, or null if that price is not in the phase. */
export function nextPhase(
  phase: SchedulePhase,
  { from, to }: { readonly from: string; readonly to: string },
): SchedulePhaseParams | null {
  if (!phase.items.some(({ price }) => idOf(price) === from)) return null;
  const copied = copyPhase(phase);
  return {
    ...copied,
    items: copied.items.map((item) => (item.price === from ? { ...item, price: to } : item)),
  };
}

function copyItem(item: SchedulePhase['items'][number]): SchedulePhaseParams['items'][number] {
  const usage = item.billing_thresholds?.usage_gte ?? null;
  return omitEmpty({
    price: idOf(item.price),
    quantity: item.quantity,
    billing_thresholds: usage === null ? null : { usage_gte: usage },
    discounts: item.discounts?.map(copyDiscount),
    metadata: item.metadata,
    tax_rates: item.tax_rates?.map(idOf),
  });
}

/** A running discount continues with its remaining duration. Passing its coupon instead would restart it. */
function copyDiscount({ discount, promotion_code: code, coupon }: SchedulePhase['discounts'][number]) {
  if (discount) return { discount: idOf(discount) };
  return code ? { promotion_code: idOf(code) } : omitEmpty({ coupon: coupon && idOf(coupon) });
}

function copyAccount({
  account,
  type,
}: {
  readonly account?: string | { readonly id: string };
  readonly type: string;
}) {
  return account === undefined ? { type } : { type, account: idOf(account) };
}

/** Removes null and undefined fields. */
function omitEmpty<T extends object>(fields: { readonly [F in keyof T]: T[F] | null | undefined }): T {
  const entries = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries) as T;
}
