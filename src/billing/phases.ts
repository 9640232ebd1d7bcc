import type Stripe from 'stripe';
import { idOf } from './catalogue.ts';

/**
 * Phases of a schedule, as they are said again. An update of a schedule replaces its phases whole: what is not said again
 * of them is lost. So everything that the owner of the Stripe account may have given a subscription by hand goes along,
 * into the phase that comes as well: discounts, taxes, further items. What is charged does not: that is the customer's usual
 * payment method, which may be another one by then.
 */

type Shown = Stripe.SubscriptionSchedule.Phase;
type Said = Stripe.SubscriptionScheduleUpdateParams.Phase;

export function phaseAgain(phase: Shown): Said {
  const { automatic_tax: tax, billing_thresholds: thresholds, invoice_settings: settings } = phase;
  return present<Said>({
    items: phase.items.map(itemAgain),
    automatic_tax:
      tax && present({ enabled: tax.enabled, liability: tax.liability && accountAgain(tax.liability) }),
    billing_thresholds:
      thresholds &&
      present({
        amount_gte: thresholds.amount_gte,
        reset_billing_cycle_anchor: thresholds.reset_billing_cycle_anchor,
      }),
    collection_method: phase.collection_method,
    default_tax_rates: phase.default_tax_rates?.map(idOf),
    description: phase.description,
    discounts: phase.discounts?.map(discountAgain),
    invoice_settings:
      settings &&
      present({
        account_tax_ids: settings.account_tax_ids?.map(idOf),
        custom_fields: settings.custom_fields,
        days_until_due: settings.days_until_due,
        description: settings.description,
        footer: settings.footer,
        issuer: settings.issuer && accountAgain(settings.issuer),
      }),
    metadata: phase.metadata,
  });
}

/** The phase that follows: the same with another price in the place of one; null where that one is not in it. */
export function phaseAfter(
  phase: Shown,
  { from, to }: { readonly from: string; readonly to: string },
): Said | null {
  if (!phase.items.some(({ price }) => idOf(price) === from)) return null;
  const again = phaseAgain(phase);
  return {
    ...again,
    items: again.items.map((item) => (item.price === from ? { ...item, price: to } : item)),
  };
}

function itemAgain(item: Shown['items'][number]): Said['items'][number] {
  const usage = item.billing_thresholds?.usage_gte ?? null;
  return present({
    price: idOf(item.price),
    quantity: item.quantity,
    billing_thresholds: usage === null ? null : { usage_gte: usage },
    discounts: item.discounts?.map(discountAgain),
    metadata: item.metadata,
    tax_rates: item.tax_rates?.map(idOf),
  });
}

/** One that runs goes on with what is left of it; by its coupon it would begin again. */
function discountAgain({ discount, promotion_code: code, coupon }: Shown['discounts'][number]) {
  if (discount) return { discount: idOf(discount) };
  return code ? { promotion_code: idOf(code) } : present({ coupon: coupon && idOf(coupon) });
}

function accountAgain({
  account,
  type,
}: {
  readonly account?: string | { readonly id: string };
  readonly type: string;
}) {
  return account === undefined ? { type } : { type, account: idOf(account) };
}

/** Without what is absent. */
function present<T extends object>(fields: { readonly [F in keyof T]: T[F] | null | undefined }): T {
  const given = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(given) as T;
}
