/** A number for people: 12,345.6; n/a for one that is not known. */
export function formatNumber(value: number | null, digits: number): string {
  if (value === null) return 'n/a';
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
