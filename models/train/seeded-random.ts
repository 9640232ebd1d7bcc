/** Seeded random numbers for the recipe (mulberry32): the same seed gives the same training. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Uniform in [0, 1). */
  nextFloat(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let z = this.#state;
    z = Math.imul(z ^ (z >>> 15), z | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Uniform integer in 0 .. bound - 1. */
  nextInt(bound: number): number {
    return Math.floor(this.nextFloat() * bound);
  }

  /** Standard normal. */
  nextNormal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.nextFloat())) * Math.cos(2 * Math.PI * this.nextFloat());
  }

  pick<T>(items: readonly T[]): T {
    return items[this.nextInt(items.length)]!;
  }
}
