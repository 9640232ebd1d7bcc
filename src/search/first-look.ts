/** A first look costs about this share of a whole one: where fewer of them suffice, they do not pay. */
const leastShare = 0.6;
/** How much the last look counts. */
const newestWeight = 0.02;
/** Where they do not pay, one search of so many tries whether they do by now. */
const searchesPerTrial = 32;

/**
 * Whether a search of this collection should look at few candidates first. Words and meaning mostly agree on the best
 * rows, and then few candidates prove that they hold them; where they do not, the look was for nothing. Either way
 * the answer is the same: what is learned here decides about time only.
 */
export class FirstLook {
  /** Of recent looks, those that sufficed. */
  #share = 1;
  #searches = 0;

  isWorthwhile(): boolean {
    this.#searches = (this.#searches + 1) % searchesPerTrial;
    return this.#share >= leastShare || this.#searches === 0;
  }

  learn(sufficed: boolean): void {
    this.#share += newestWeight * (Number(sufficed) - this.#share);
  }
}
