/**
 * What waits, by organisation: they take turns, and inside an organisation who came first goes first. Every step takes the
 * same time, however many wait.
 */
export class TurnQueue<Item extends object> {
  /** Those that have something waiting, in the order of their turns. */
  readonly #queues = new Map<string, Set<Item>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(organizationId: string): number {
    return this.#queues.get(organizationId)?.size ?? 0;
  }

  add(organizationId: string, item: Item): void {
    const queue = this.#queues.get(organizationId);
    if (queue === undefined) this.#queues.set(organizationId, new Set([item]));
    else queue.add(item);
    this.#size += 1;
  }

  /** False when it does not wait any more. */
  delete(organizationId: string, item: Item): boolean {
    const queue = this.#queues.get(organizationId);
    if (queue?.delete(item) !== true) return false;
    this.#size -= 1;
    if (queue.size === 0) this.#queues.delete(organizationId);
    return true;
  }

  /** Takes who is next out; its organisation goes behind all others. */
  take(): Item | null {
    const turn = this.#queues.entries().next();
    if (turn.done === true) return null;
    const [organizationId, queue] = turn.value;
    const [first] = queue;
    if (first === undefined) return null;
    queue.delete(first);
    this.#size -= 1;
    this.#queues.delete(organizationId);
    if (queue.size > 0) this.#queues.set(organizationId, queue);
    return first;
  }
}
