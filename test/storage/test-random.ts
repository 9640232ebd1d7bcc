import { randomInt } from 'node:crypto';

/** Reproducible random numbers: the seed comes from QUARRY_TEST_SEED or is drawn; include it in the test's title. */
export interface TestRandom {
  readonly seed: number;
  /** 0 <= number < limit. */
  below(limit: number): number;
}

export function createTestRandom(
  seed = Number(process.env.QUARRY_TEST_SEED ?? randomInt(2 ** 31)),
): TestRandom {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { seed, below: (limit) => Math.floor(next() * limit) };
}
