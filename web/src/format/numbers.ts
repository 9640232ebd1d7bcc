import { locale } from '../texts/language.ts';

/** Formats numbers in the language of the dashboard. */

const integerFormat = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const scoreFormat = new Intl.NumberFormat(locale, { minimumFractionDigits: 3, maximumFractionDigits: 3 });
const percentFormat = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 });

export function formatCount(number: number): string {
  return integerFormat.format(number);
}

/** Formats a score between 0 and 1. */
export function formatScore(number: number): string {
  return scoreFormat.format(number);
}

export function formatPercent(part: number, all: number): string {
  return percentFormat.format(all === 0 ? 0 : part / all);
}

const byteUnits = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
const byteFormats = byteUnits.map(
  (unit) =>
    new Intl.NumberFormat(locale, {
      style: 'unit',
      unit,
      unitDisplay: unit === 'byte' ? 'long' : 'short',
      maximumFractionDigits: 1,
    }),
);

export function formatBytes(number: number): string {
  let [step, scaled] = [0, number];
  while (scaled >= 999.95 && step < byteFormats.length - 1) {
    scaled /= 1_000;
    step += 1;
  }
  return (byteFormats[step] as Intl.NumberFormat).format(scaled);
}

const millisecondFormats = [1, 0].map(
  (digits) =>
    new Intl.NumberFormat(locale, {
      style: 'unit',
      unit: 'millisecond',
      unitDisplay: 'short',
      maximumFractionDigits: digits,
    }),
);

export function formatDuration(ms: number): string {
  return (millisecondFormats[ms < 10 ? 0 : 1] as Intl.NumberFormat).format(ms);
}
