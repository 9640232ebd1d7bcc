import { toCellText } from '../text/row-pages.ts';

/** Number formatting for workbooks, shared by XLSX and XLS. */

/** Display style of a number format: a date, a time, both, or a percentage; null: the plain number. */
export type NumberStyle = 'date' | 'time' | 'both' | 'percent' | null;

/** Returns the style of a built-in number format. Source: ECMA-376 part 1, 18.8.30. */
export function getBuiltInNumberStyle(id: number): NumberStyle {
  if (id === 9 || id === 10) return 'percent';
  if (id === 22) return 'both';
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || (id >= 50 && id <= 58)) return 'date';
  return (id >= 18 && id <= 21) || (id >= 32 && id <= 36) || (id >= 45 && id <= 47) ? 'time' : null;
}

/** Returns the style of a custom number format. */
export function parseNumberStyle(format: string): NumberStyle {
  const letters = format.replace(/"[^"]*"|\\.|\[[^\]hms]*\]|_.|\*./gi, '').split(';')[0]!;
  const date = /[yd]/i.test(letters);
  const time = /[hs]/i.test(letters);
  if (date) return time ? 'both' : 'date';
  if (time) return 'time';
  if (letters.includes('%')) return 'percent';
  return /^m+$/i.test(letters) ? 'date' : null;
}

/** Texts up to this length have at most fifteen digits, which a double represents exactly. */
const exactUnitsMax = 15;
const exactDigits = 15;
const dayMs = 86_400_000;
/**
 * Day 0 of the two calendars. The first treats 1900 as a leap year, so days before March 1900 are off by one.
 */
const epoch1900 = Date.UTC(1899, 11, 30);
const epoch1904 = Date.UTC(1904, 0, 1);
const lastDayNumber = 2_958_465;

/**
 * Formats a number as displayed: dates in ISO, percentages with a percent sign, all others as plain values.
 */
export function formatNumber(raw: string, style: NumberStyle, since1904: boolean): string {
  const value = Number(raw);
  // Numbers with few digits are printed unchanged; longer ones carry floating-point noise of their last
  // calculation.
  if (style === null && raw.length <= exactUnitsMax && Number.isFinite(value)) return String(value);
  if (!Number.isFinite(value)) return toCellText(raw);
  if (style === 'percent') return `${Number((value * 100).toPrecision(exactDigits))}%`;
  if (style === null || value < 0 || value > lastDayNumber)
    return String(Number(value.toPrecision(exactDigits)));
  const shifted = !since1904 && value < 60 ? value + 1 : value;
  const date = new Date((since1904 ? epoch1904 : epoch1900) + Math.round(shifted * 86_400) * 1_000);
  const iso = date.toISOString();
  if (style === 'time')
    return value >= 1 ? String(Number(value.toPrecision(exactDigits))) : iso.slice(11, 19);
  return style === 'date' || date.getTime() % dayMs === 0
    ? iso.slice(0, 10)
    : iso.slice(0, 19).replace('T', ' ');
}
