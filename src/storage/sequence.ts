import { AppError } from '../core/app-error.ts';
import { tables, text } from './keys.ts';
import { encodeCounters, readCounters, type Store } from './store.ts';
import { bytesCodec, Table } from './table.ts';

const systemTable = new Table<readonly [name: string], Uint8Array>(tables.system, [text], bytesCodec);
const ceilingKey = 'sequence';

/** Numbers reserved per write. A process would have to use half of them within one fsync to run out. */
const blockSize = 2 ** 24;

/**
 * The monotonic counter of a data directory, for versions and change sequences. Numbers are taken from a
 * block whose end is durable before its first number is used, so that no number is ever issued twice; a
 * restart skips the rest of a block (2^53 holds 500 million blocks).
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
   * Returns the next number, greater than all before. Call it in the same turn of the event loop as the
   * `write` that uses the number: then numbers become durable in order.
   */
  next(): number {
    const number = this.#next;
    if (this.#ceiling - number < blockSize / 2) this.#extending ??= this.#extend();
    if (number > this.#ceiling) throw sequenceExhausted();
    this.#next += 1;
    return number;
  }

  /** Reserves another block. If the store is not writable, the next number retries. */
  async #extend(): Promise<void> {
    const ceiling = this.#ceiling + blockSize;
    try {
      await reserveBlock(this.#store, ceiling);
      this.#ceiling = ceiling;
    } catch {
      // Half a block is left, and every number retries; the write that uses the number reports the error.
    } finally {
      this.#extending = null;
    }
  }
}

function sequenceExhausted(): AppError {
  return new AppError('unavailable', 'The store does not accept writes at the moment. Try again shortly.', {
    retryAfterMs: 1_000,
  });
}

function reserveBlock(store: Store, ceiling: number): Promise<void> {
  return store.write([systemTable.put([ceilingKey], encodeCounters([ceiling]))], { mayUseReserve: true });
}
