/**
 * Bounded amount (bytes of memory) shared by owners (organizations, users, addresses). An owner may hold at
 * most as much as remains free after it: one owner alone gets half, two get a third each, and a further owner
 * always finds some free. These are the dynamic thresholds of shared buffers in network switches (Choudhury
 * and Hahne, 1998); owners that hold little do not reduce the share of others.
 */
export class SharedBudget {
  readonly #capacity: number;
  readonly #held = new Map<string, number>();
  #used = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get used(): number {
    return this.#used;
  }

  heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0;
  }

  /** Returns false and takes nothing when `amount` more would exceed the share of `owner`. */
  tryAcquire(owner: string, amount: number): boolean {
    const held = this.heldBy(owner) + amount;
    const free = this.#capacity - this.#used - amount;
    if (held > free) return false;
    this.#set(owner, held);
    this.#used += amount;
    return true;
  }

  release(owner: string, amount: number): void {
    this.#set(owner, this.heldBy(owner) - amount);
    this.#used -= amount;
  }

  #set(owner: string, held: number): void {
    if (held === 0) this.#held.delete(owner);
    else this.#held.set(owner, held);
  }
}
