import { AppError } from '../core/app-error.ts';
import { tables, text } from './keys.ts';
import { encodeCounters, readCounters, type Store } from './store.ts';
import { bytesCodec, Table } from './table.ts';

const systemTable = new Table<readonly [name: string], Uint8Array>(tables.system, [text], bytesCodec);
const ceilingKey = 'sequence';

/** Numbers reserved with one write. A process would need half of them within one fsync to run out. */
const blockSize = 2 ** 24;

/**
 * The one monotonic counter of a data directory: versions and change sequences. Numbers are handed out from a block
 * whose end is durable before the first of them is given away, so that none is ever given twice; a restart skips the
 * rest of a block (2^53 holds 500 million blocks).
 */
export class Sequence {
  readonly #store: Store;
  #next: number;
  #ceiling: number;
  #extending: Promise<void> | null = null;

  static async open(store: Store): Promise<Sequence> {
    const [used = 0] = readCounters(systemTable.get(store, [ceilingKey]), 1);
    const ceiling = used + blockSize;
    await reserveBlock(store, ceiling);
    return new Sequence(store, used + 1, ceiling);
  }

  private constructor(store: Store, next: number, ceiling: number) {
    this.#store = store;
    this.#next = next;
    this.#ceiling = ceiling;
  }

  /**
   * The next number, greater than all before. Take it in the same turn of the event loop as the `write` that uses
   * it: then numbers are durable in their order.
   */
  next(): number {
    const number = this.#next;
    if (this.#ceiling - number < blockSize / 2) this.#extending ??= this.#extend();
    if (number > this.#ceiling) throw sequenceExhausted();
    this.#next += 1;
    return number;
  }

  /** A store that cannot be written now is asked again by the next number. */
  async #extend(): Promise<void> {
    const ceiling = this.#ceiling + blockSize;
    try {
      await reserveBlock(this.#store, ceiling);
      this.#ceiling = ceiling;
    } catch {
      // Half a block is left, and every number asks again; the write that uses the number reports the trouble.
    } finally {
      this.#extending = null;
    }
  }
}

function sequenceExhausted(): AppError {
  return new AppError('unavailable', 'The store could not be written for too long; try again in a moment.', {
    retryAfterMs: 1_000,
  });
}

function reserveBlock(store: Store, ceiling: number): Promise<void> {
  return store.write([systemTable.put([ceilingKey], encodeCounters([ceiling]))], { mayUseReserve: true });
}
