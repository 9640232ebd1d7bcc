/** A reproducible stream of numbers, 0 <= number < 1. */
export type RandomStream = () => number;

/** Steps after which every bit of a key affects every bit of the state. */
const mixingSteps = 12;

/**
 * Returns the stream of `keys` (integers below 2^32), equal on every machine: the generator sfc32 (Chris
 * Doty-Humphrey, PractRand), into whose 128 bits of state the keys are mixed one by one. Different keys give
 * independent streams, so that document 7 has the same text whether or not document 6 was generated. A step
 * is invertible, so that two keys after the same prefix never give the same state; with a state of 32 bits, a
 * million rows would have thousands of collisions.
 */
export function randomStream(...keys: readonly number[]): RandomStream {
  let [a, b, c, counter] = [0x243f6a88, 0x85a308d3 | 0, 0x13198a2e, 1];
  const step = (): number => {
    const output = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + output) | 0;
    return output >>> 0;
  };
  for (const key of keys) {
    a ^= key;
    for (let i = 0; i < mixingSteps; i++) step();
  }
  return () => step() / 2 ** 32;
}

/** Returns an integer, 0 <= number < limit. */
export function randomBelow(random: RandomStream, limit: number): number {
  return Math.floor(random() * limit);
}

/** Returns the values in a random order (Fisher-Yates shuffle). */
export function shuffle<T>(values: readonly T[], random: RandomStream): T[] {
  const order = [...values];
  for (let last = order.length - 1; last > 0; last--) {
    const other = randomBelow(random, last + 1);
    [order[last], order[other]] = [order[other] as T, order[last] as T];
  }
  return order;
}
