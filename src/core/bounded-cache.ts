import { assert } from './assert.ts';

interface CacheEntry<V> {
  readonly value: V;
  cost: number;
  /** Since it was kept or last spared. */
  wasUsed: boolean;
}

/**
 * Values by key whose costs (bytes, or 1 each) together never exceed a bound: the oldest goes first, unless it was used
 * since its last turn, which spares it until the next. Finding a value changes no order, so it costs one look-up. A
 * value that costs more than the whole bound is not kept.
 */
export class BoundedCache<V, K extends string | number = string> {
  readonly costMax: number;
  /** In the order of their turns to go. */
  readonly #entries = new Map<K, CacheEntry<V>>();
  #cost = 0;

  constructor(costMax: number) {
    this.costMax = costMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Of everything that is kept, together. */
  get cost(): number {
    return this.#cost;
  }

  /** What is kept, not marked as used. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Also marks the value as used. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // Written only where it changes something: what is merely read stays in the caches of all processors.
    if (!entry.wasUsed) entry.wasUsed = true;
    return entry.value;
  }

  /** Replaces what was kept under the key. */
  set(key: K, value: V, cost: number): void {
    assert(cost >= 0, 'nothing that is kept has a negative cost');
    this.delete(key);
    if (cost > this.costMax) return;
    this.#entries.set(key, { value, cost, wasUsed: false });
    this.#charge(key, cost);
  }

  /** The value of this key has become costlier by so much; harmless when it is not kept (any more). */
  addCost(key: K, cost: number): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    if (entry.cost + cost > this.costMax) {
      this.delete(key);
      return;
    }
    entry.cost += cost;
    this.#charge(key, cost);
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#cost -= entry.cost;
  }

  keys(): IterableIterator<K> {
    return this.#entries.keys();
  }

  /** The value under `key` pays `cost`; if that is too much, others make room for it. */
  #charge(key: K, cost: number): void {
    this.#cost += cost;
    if (this.#cost <= this.costMax) return;
    for (const [oldest, entry] of this.#entries) {
      if (oldest === key || entry.wasUsed) {
        entry.wasUsed = false;
        this.#entries.delete(oldest);
        this.#entries.set(oldest, entry);
        continue;
      }
      this.delete(oldest);
      if (this.#cost <= this.costMax) return;
    }
  }
}
