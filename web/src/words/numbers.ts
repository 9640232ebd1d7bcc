/** Numbers as the browser's language writes them. */

const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat(undefined, { minimumFractionDigits: 3, maximumFractionDigits: 3 });
const share = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 0 });

export function count(number: number): string {
  return whole.format(number);
}

/** A score between 0 and 1. */
export function score(number: number): string {
  return fine.format(number);
}

export function percent(part: number, all: number): string {
  return share.format(all === 0 ? 0 : part / all);
}

const byteUnits = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
const sizes = byteUnits.map(
  (unit) =>
    new Intl.NumberFormat(undefined, {
      style: 'unit',
      unit,
      unitDisplay: unit === 'byte' ? 'long' : 'short',
      maximumFractionDigits: 1,
    }),
);

export function bytes(number: number): string {
  let [step, shown] = [0, number];
  while (shown >= 999.95 && step < sizes.length - 1) {
    shown /= 1_000;
    step += 1;
  }
  return (sizes[step] as Intl.NumberFormat).format(shown);
}

const milliseconds = [1, 0].map(
  (digits) =>
    new Intl.NumberFormat(undefined, {
      style: 'unit',
      unit: 'millisecond',
      unitDisplay: 'short',
      maximumFractionDigits: digits,
    }),
);

export function duration(ms: number): string {
  return (milliseconds[ms < 10 ? 0 : 1] as Intl.NumberFormat).format(ms);
}

const plurals = new Intl.PluralRules('en');

/** "1 document", "2 documents"; a plural that is not made with "s" is given. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${plurals.select(number) === 'one' ? one : many}`;
}
