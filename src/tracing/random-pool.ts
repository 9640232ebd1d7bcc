import type { Random } from '../core/ids.ts';

const poolBytes = 2_048;

/** Random IDs and decisions from one call of the generator per 2 KiB: a call of its own takes as long as a span. */
export class RandomPool {
  readonly #random: Random;
  #pool = Buffer.alloc(0);
  #next = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns `bytes` random bytes in hexadecimal digits. */
  hex(bytes: number): string {
    const start = this.#take(bytes);
    return this.#pool.toString('hex', start, start + bytes);
  }

  /** Returns a random integer from 0 to 65,535. */
  integer(): number {
    const start = this.#take(2);
    return this.#pool.readUInt16LE(start);
  }

  /** Returns the position of unused bytes in the pool, which it fills before. */
  #take(bytes: number): number {
    if (this.#next + bytes > this.#pool.length) {
      this.#pool = Buffer.from(this.#random.bytes(poolBytes));
      this.#next = 0;
    }
    const start = this.#next;
    this.#next += bytes;
    return start;
  }
}
