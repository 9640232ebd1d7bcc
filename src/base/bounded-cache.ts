import { assert } from './assert.ts';

interface Kept<V> {
  readonly value: V;
  cost: number;
  /** Since it was kept or last spared. */
  used: boolean;
}

/**
 * Values by key whose costs (bytes, or 1 each) together never exceed a bound: the oldest goes first, unless it was used
 * since its last turn, which spares it until the next. Finding a value changes no order, so it costs one look-up. A
 * value that costs more than the whole bound is not kept.
 */
export class BoundedCache<V, K extends string | number = string> {
  readonly costMax: number;
  /** In the order of their turns to go. */
  readonly #kept = new Map<K, Kept<V>>();
  #cost = 0;

  constructor(costMax: number) {
    this.costMax = costMax;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Of everything that is kept, together. */
  get cost(): number {
    return this.#cost;
  }

  /** What is kept, not marked as used. */
  peek(key: K): V | undefined {
    return this.#kept.get(key)?.value;
  }

  /** Also marks the value as used. */
  get(key: K): V | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    // Written only where it changes something: what is merely read stays in the caches of all processors.
    if (!kept.used) kept.used = true;
    return kept.value;
  }

  /** Replaces what was kept under the key. */
  set(key: K, value: V, cost: number): void {
    assert(cost >= 0, 'nothing that is kept has a negative cost');
    this.delete(key);
    if (cost > this.costMax) return;
    this.#kept.set(key, { value, cost, used: false });
    this.#add(key, cost);
  }

  /** The value of this key has become costlier by so much; harmless when it is not kept (any more). */
  grow(key: K, cost: number): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    if (kept.cost + cost > this.costMax) {
      this.delete(key);
      return;
    }
    kept.cost += cost;
    this.#add(key, cost);
  }

  delete(key: K): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#kept.delete(key);
    this.#cost -= kept.cost;
  }

  keys(): IterableIterator<K> {
    return this.#kept.keys();
  }

  /** The value under `key` pays `cost`; if that is too much, others make room for it. */
  #add(key: K, cost: number): void {
    this.#cost += cost;
    if (this.#cost <= this.costMax) return;
    for (const [oldest, kept] of this.#kept) {
      if (oldest === key || kept.used) {
        kept.used = false;
        this.#kept.delete(oldest);
        this.#kept.set(oldest, kept);
        continue;
      }
      this.delete(oldest);
      if (this.#cost <= this.costMax) return;
    }
  }
}
