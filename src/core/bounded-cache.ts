import { assert } from './assert.ts';

interface CacheEntry<V> {
  readonly value: V;
  cost: number;
  /** Whether the value was read since it was added or last spared from eviction. */
  wasUsed: boolean;
}

/**
 * Cache whose total cost (bytes, or 1 per value) never exceeds a bound. Eviction is second-chance (CLOCK):
 * the oldest value is evicted first, unless it was read since it was last considered. A read does not reorder
 * entries, so it costs one lookup. A value that costs more than the whole bound is not cached.
 */
export class BoundedCache<V, K extends string | number = string> {
  readonly costMax: number;
  /** Entries in eviction order. */
  readonly #entries = new Map<K, CacheEntry<V>>();
  #cost = 0;

  constructor(costMax: number) {
    this.costMax = costMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Total cost of all cached values. */
  get cost(): number {
    return this.#cost;
  }

  /** Returns the cached value without marking it as used. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Returns the cached value and marks it as used. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // Written only if it changes: memory that is only read stays in the caches of all processors.
    if (!entry.wasUsed) entry.wasUsed = true;
    return entry.value;
  }

  /** Replaces the cached value of the key. */
  set(key: K, value: V, cost: number): void {
    assert(cost >= 0, 'the cost of a cached value is not negative');
    this.delete(key);
    if (cost > this.costMax) return;
    this.#entries.set(key, { value, cost, wasUsed: false });
    this.#charge(key, cost);
  }

  /** Adds to the cost of a value that has grown. Does nothing when the key is not cached. */
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

  /**
   * Adds `cost` of the value under `key` to the total and evicts other values while the total exceeds the
   * bound.
   */
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
