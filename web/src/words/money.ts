/** How many more places a part of the smallest unit may have: prices of a million tokens do. */
const extraFractionDigits = 6;

/** Money as the browser's language writes it; `amount` is in the smallest unit of the currency. */
export function formatMoney(amount: number, currency: string): string {
  const format = new Intl.NumberFormat(undefined, { style: 'currency', currency });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  const majorAmount = amount / 10 ** digits;
  if (Number.isInteger(amount)) return format.format(majorAmount);
  const maximumFractionDigits = digits + extraFractionDigits;
  return new Intl.NumberFormat(undefined, { style: 'currency', currency, maximumFractionDigits }).format(
    majorAmount,
  );
}
