/**
 * A queue with round robin between keys (organizations) and first in, first out within one key. A key that
 * has used no turn of the current round goes first, so that a request of an organization that sends few does
 * not wait for the backlog of others. These are the new and old flows of FQ-CoDel (RFC 8290). Each operation
 * takes amortized constant time, regardless of the number of waiting items. Custom code, because p-queue
 * orders by one priority and does not support keys.
 */
export class FairQueue<Item extends object> {
  /** Items of keys that have had no turn in this round, in order of arrival. */
  readonly #fresh = new Map<string, Set<Item>>();
  /**
   * Items of the other keys, in the order of their turns. A key without items keeps its position until its
   * turn: otherwise it would count as new with its next item, and many such keys would starve those with a
   * backlog.
   */
  readonly #rotation = new Map<string, Set<Item>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(key: string): number {
    return this.#queueOf(key)?.size ?? 0;
  }

  add(key: string, item: Item): void {
    const queue = this.#queueOf(key);
    if (queue === undefined) this.#fresh.set(key, new Set([item]));
    else queue.add(item);
    this.#size += 1;
  }

  /** False when the item is no longer waiting. */
  delete(key: string, item: Item): boolean {
    const queue = this.#queueOf(key);
    if (queue?.delete(item) !== true) return false;
    this.#size -= 1;
    if (queue.size === 0) this.#fresh.delete(key);
    return true;
  }

  /** Removes and returns the next item; its key then moves behind all others. Null when the queue is empty. */
  take(): Item | null {
    return this.#takeFirst(this.#fresh) ?? this.#takeFirst(this.#rotation);
  }

  /**
   * Removes and returns the first item of one key, without using the turn of the key. Null when the key has
   * no item.
   */
  takeFrom(key: string): Item | null {
    const queue = this.#queueOf(key);
    if (queue === undefined) return null;
    const [first] = queue;
    if (first === undefined) return null;
    queue.delete(first);
    this.#size -= 1;
    return first;
  }

  #takeFirst(queues: Map<string, Set<Item>>): Item | null {
    for (const [key, queue] of queues) {
      const [first] = queue;
      queues.delete(key);
      if (first === undefined) continue;
      queue.delete(first);
      this.#size -= 1;
      this.#rotation.set(key, queue);
      return first;
    }
    return null;
  }

  #queueOf(key: string): Set<Item> | undefined {
    return this.#fresh.get(key) ?? this.#rotation.get(key);
  }
}
