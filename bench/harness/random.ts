/** A reproducible stream of numbers, 0 <= number < 1. */
export type RandomStream = () => number;

/** Steps after which every bit of a key has reached every bit of the state. */
const mixingSteps = 12;

/**
 * The stream that belongs to `keys` (whole numbers below 2^32), the same on every machine: the generator sfc32 (Chris
 * Doty-Humphrey, PractRand), whose 128 bits of state the keys are stirred into one by one. Different keys give streams
 * that have nothing to do with each other, so that document 7 is the same text whether or not document 6 was ever made.
 * A step loses nothing, so two keys after the same ones before never end in the same state: 32 bits would not do, a
 * million rows would have thousands of twins.
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

/** A whole number, 0 <= number < limit. */
export function randomBelow(random: RandomStream, limit: number): number {
  return Math.floor(random() * limit);
}

/** The values in a random order (Fisher and Yates). */
export function shuffle<T>(values: readonly T[], random: RandomStream): T[] {
  const order = [...values];
  for (let last = order.length - 1; last > 0; last--) {
    const other = randomBelow(random, last + 1);
    [order[last], order[other]] = [order[other] as T, order[last] as T];
  }
  return order;
}
