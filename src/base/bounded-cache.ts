import { assert } from './assert.ts';

interface Kept<V> {
  readonly value: V;
  cost: number;
}

/**
 * Values by key whose costs (bytes, or 1 each) together never exceed a bound: what was not used for the longest time
 * goes first. A value that costs more than the whole bound is not kept.
 */
export class BoundedCache<V> {
  readonly costMax: number;
  /** In the order of their last use. */
  readonly #kept = new Map<string, Kept<V>>();
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

  /** Also marks the value as used. */
  get(key: string): V | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return kept.value;
  }

  /** Replaces what was kept under the key. */
  set(key: string, value: V, cost: number): void {
    assert(cost >= 0, 'nothing that is kept has a negative cost');
    this.delete(key);
    if (cost > this.costMax) return;
    this.#kept.set(key, { value, cost });
    this.#add(cost);
  }

  /** The value of this key has become costlier by so much; harmless when it is not kept (any more). */
  grow(key: string, cost: number): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    if (kept.cost + cost > this.costMax) {
      this.delete(key);
      return;
    }
    kept.cost += cost;
    this.#add(cost);
  }

  delete(key: string): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#kept.delete(key);
    this.#cost -= kept.cost;
  }

  keys(): IterableIterator<string> {
    return this.#kept.keys();
  }

  #add(cost: number): void {
    this.#cost += cost;
    for (const key of this.#kept.keys()) {
      if (this.#cost <= this.costMax) return;
      this.delete(key);
    }
  }
}
