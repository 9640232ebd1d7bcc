import type { Thing } from './world.ts';

const decimalPlaces = 12;

/** What a quantity of a price costs, in whole minor units, halves away from zero. */
export function amountOf(price: Thing, quantity: number): number {
  const packs = price.transform_quantity === null ? quantity : packsOf(price.transform_quantity, quantity);
  const [whole, part = ''] = String(price.unit_amount_decimal).split('.');
  const scaled = BigInt(`${whole}${part.padEnd(decimalPlaces, '0')}`) * BigInt(packs);
  const scale = 10n ** BigInt(decimalPlaces);
  const size = scaled < 0n ? -scaled : scaled;
  const rounded = Number((size + scale / 2n) / scale);
  return scaled < 0n ? -rounded : rounded;
}

function packsOf(transform: { divide_by: number; round: 'up' | 'down' }, quantity: number): number {
  const packs = quantity / transform.divide_by;
  return transform.round === 'up' ? Math.ceil(packs) : Math.floor(packs);
}

/** The part of an amount for some seconds of a period. */
export function partOf(amount: number, seconds: number, periodSeconds: number): number {
  return Math.round((amount * seconds) / periodSeconds);
}
