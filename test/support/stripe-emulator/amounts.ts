import type { StripeObject } from './stripe-state.ts';

const decimalPlaces = 12;

/** Cost of a quantity of a price, in whole minor units; halves round away from zero. */
export function amountOf(price: StripeObject, quantity: number): number {
  const packages =
    price.transform_quantity === null ? quantity : packageCount(price.transform_quantity, quantity);
  const [whole, part = ''] = String(price.unit_amount_decimal).split('.');
  const scaled = BigInt(`${whole}${part.padEnd(decimalPlaces, '0')}`) * BigInt(packages);
  const scale = 10n ** BigInt(decimalPlaces);
  const size = scaled < 0n ? -scaled : scaled;
  const rounded = Number((size + scale / 2n) / scale);
  return scaled < 0n ? -rounded : rounded;
}

function packageCount(transform: { divide_by: number; round: 'up' | 'down' }, quantity: number): number {
  const packages = quantity / transform.divide_by;
  return transform.round === 'up' ? Math.ceil(packages) : Math.floor(packages);
}

/** Share of `amount` for `seconds` of a period. */
export function proratedAmount(amount: number, seconds: number, periodSeconds: number): number {
  return Math.round((amount * seconds) / periodSeconds);
}
