import { assert } from './assert.ts';

/** What a roster can list. Its place belongs to the roster; -1 outside. */
export interface Listed {
  place: number;
}

/**
 * Things that come and go all the time, in no promised order. A Set would do the same, but one that keeps its size makes
 * itself a new table again and again, to which V8 has the old one point; and once an old table has outlived two collections
 * of young objects, these take everything that it leads to for alive: all later tables and what was ever in them. Each
 * query then left kilobytes behind, moved twice and freed only with the whole heap.
 */
export class Roster<Item extends Listed> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: Item): void {
    assert(item.place === -1, 'nothing is listed twice');
    item.place = this.#items.length;
    this.#items.push(item);
  }

  /** Harmless for what is not listed. */
  delete(item: Item): void {
    const { place } = item;
    if (place === -1) return;
    assert(this.#items[place] === item, 'what is listed has its own place');
    const last = this.#items.pop()!;
    if (last !== item) {
      this.#items[place] = last;
      last.place = place;
    }
    item.place = -1;
  }

  /** Of a moment: what comes or goes meanwhile changes nothing. */
  [Symbol.iterator](): IterableIterator<Item> {
    return this.#items.slice().values();
  }
}
