/**
 * A bounded amount (bytes of memory) that owners (organizations, people, addresses) share. An owner may hold at most as
 * much as stays free after it took: one owner alone gets half, two get a third each, and a further owner always finds
 * something free. These are the dynamic thresholds that network switches use for shared buffers (Choudhury and Hahne,
 * 1998); owners that hold little do not lower the share of the others.
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

  /** False, and nothing is taken, when `amount` more is above the share of `owner`. */
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
