/** Formats a number: 12,345.6; n/a for null. */
export function formatNumber(value: number | null, digits: number): string {
  if (value === null) return 'n/a';
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
