/**
 * A queue with round robin between keys (organizations) and the order of arrival within one key. Each step takes the
 * same time, however many items wait. Ours, because p-queue orders by one priority and has no notion of a key.
 */
export class FairQueue<Item extends object> {
  /** Items of each key that has some, in the order in which the keys are served. */
  readonly #queues = new Map<string, Set<Item>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(key: string): number {
    return this.#queues.get(key)?.size ?? 0;
  }

  add(key: string, item: Item): void {
    const queue = this.#queues.get(key);
    if (queue === undefined) this.#queues.set(key, new Set([item]));
    else queue.add(item);
    this.#size += 1;
  }

  /** False when the item does not wait anymore. */
  delete(key: string, item: Item): boolean {
    const queue = this.#queues.get(key);
    if (queue?.delete(item) !== true) return false;
    this.#size -= 1;
    if (queue.size === 0) this.#queues.delete(key);
    return true;
  }

  /** Removes and returns the next item; its key then comes after all others. Null when the queue is empty. */
  take(): Item | null {
    const next = this.#queues.entries().next();
    if (next.done === true) return null;
    const [key, queue] = next.value;
    const [first] = queue;
    if (first === undefined) return null;
    queue.delete(first);
    this.#size -= 1;
    this.#queues.delete(key);
    if (queue.size > 0) this.#queues.set(key, queue);
    return first;
  }
}
