import type { Status } from '../../server/billing.ts';

type Method = Status['payment_methods'][number];

const brands: Readonly<Record<string, string>> = {
  amex: 'American Express',
  diners: 'Diners Club',
  jcb: 'JCB',
  unionpay: 'UnionPay',
};

/** "Visa •••• 4242", "Sepa debit •••• 3000". */
export function methodName({ brand, type, last4 }: Method): string {
  const words = (brand ?? type).replaceAll('_', ' ');
  const name = brands[words] ?? words.charAt(0).toUpperCase() + words.slice(1);
  return last4 === null ? name : `${name} •••• ${last4}`;
}
