import type { BillingUsage } from '../../../../src/schemas/billing.ts';
import { texts } from '../../texts/en/billing.ts';

/** Amounts of the current month with their labels. Plan payments appear in full, even if no usage is charged. */
export function usageFigures(usage: BillingUsage): readonly (readonly [label: string, cents: number])[] {
  return [
    [texts.usage, usage.charges_cents],
    [texts.planPayments, usage.subscription_payments_cents],
    ...(usage.invoiced_cents > 0 ? ([[texts.alreadyInvoiced, usage.invoiced_cents]] as const) : []),
    [texts.additionalCharges, usage.billable_cents],
  ];
}
