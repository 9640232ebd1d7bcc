import type { BillingUsage } from '../../../../src/schemas/billing.ts';

/** Amounts of the current month with their labels. Plan payments appear in full, even if no usage is charged. */
export function usageFigures(usage: BillingUsage): readonly (readonly [label: string, cents: number])[] {
  return [
    ['Usage', usage.charges_cents],
    ['Plan payments', usage.subscription_payments_cents],
    ...(usage.invoiced_cents > 0 ? ([['Already invoiced', usage.invoiced_cents]] as const) : []),
    ['Additional charges', usage.billable_cents],
  ];
}
