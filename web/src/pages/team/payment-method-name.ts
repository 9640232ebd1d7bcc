import type { BillingStatus } from '../../server/billing.ts';

type Method = BillingStatus['payment_methods'][number];

const brands: Readonly<Record<string, string>> = {
  amex: 'American Express',
  diners: 'Diners Club',
  jcb: 'JCB',
  unionpay: 'UnionPay',
};

/** Display name of a payment method: "Visa •••• 4242", "Sepa debit •••• 3000". */
export function paymentMethodName({ brand, type, last4 }: Method): string {
  const label = (brand ?? type).replaceAll('_', ' ');
  const name = brands[label] ?? label.charAt(0).toUpperCase() + label.slice(1);
  return last4 === null ? name : `${name} •••• ${last4}`;
}
