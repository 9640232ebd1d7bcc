import { locale } from '../texts/language.ts';

/** Additional fraction digits for amounts below the smallest unit, such as prices per million tokens. */
const extraFractionDigits = 6;

/** Formats money in the language of the dashboard. `amount` is in the smallest unit of the currency. */
export function formatMoney(amount: number, currency: string): string {
  const format = new Intl.NumberFormat(locale, { style: 'currency', currency });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  const majorAmount = amount / 10 ** digits;
  if (Number.isInteger(amount)) return format.format(majorAmount);
  const maximumFractionDigits = digits + extraFractionDigits;
  return new Intl.NumberFormat(locale, { style: 'currency', currency, maximumFractionDigits }).format(
    majorAmount,
  );
}
