/** A reproducible stream of numbers, 0 <= number < 1. */
export type Chance = () => number;

/**
 * The stream that belongs to `keys` (whole numbers), the same on every machine: mulberry32 started from a mix of the
 * keys. Different keys give streams that have nothing to do with each other, so that document 7 is the same text
 * whether or not document 6 was ever made.
 */
export function chanceOf(...keys: readonly number[]): Chance {
  let state = 0x9e3779b9;
  for (const key of keys) state = mixed((state ^ key) >>> 0) + 0x6d2b79f5;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    return mixed(state) / 2 ** 32;
  };
}

/** A bijection of 32-bit numbers that leaves no pattern of its argument. */
function mixed(value: number): number {
  let bits = Math.imul(value ^ (value >>> 15), value | 1);
  bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
  return (bits ^ (bits >>> 14)) >>> 0;
}

/** A whole number, 0 <= number < limit. */
export function below(chance: Chance, limit: number): number {
  return Math.floor(chance() * limit);
}

/** The values in a random order (Fisher and Yates). */
export function shuffled<T>(values: readonly T[], chance: Chance): T[] {
  const order = [...values];
  for (let last = order.length - 1; last > 0; last--) {
    const other = below(chance, last + 1);
    [order[last], order[other]] = [order[other] as T, order[last] as T];
  }
  return order;
}
