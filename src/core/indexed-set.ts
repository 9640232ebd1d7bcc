import { assert } from './assert.ts';

/** What a roster can list. Its place belongs to the roster; -1 outside. */
export interface IndexedSetItem {
  index: number;
}

/**
 * Things that come and go all the time, in no promised order. A Set would do the same, but one that keeps its size makes
 * itself a new table again and again, to which V8 has the old one point; and once an old table has outlived two collections
 * of young objects, these take everything that it leads to for alive: all later tables and what was ever in them. Each
 * query then left kilobytes behind, moved twice and freed only with the whole heap.
 */
export class IndexedSet<Item extends IndexedSetItem> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: Item): void {
    assert(item.index === -1, 'nothing is listed twice');
    item.index = this.#items.length;
    this.#items.push(item);
  }

  /** Harmless for what is not listed. */
  delete(item: Item): void {
    const { index } = item;
    if (index === -1) return;
    assert(this.#items[index] === item, 'what is listed has its own place');
    const last = this.#items.pop()!;
    if (last !== item) {
      this.#items[index] = last;
      last.index = index;
    }
    item.index = -1;
  }

  /** Of a moment: what comes or goes meanwhile changes nothing. */
  [Symbol.iterator](): IterableIterator<Item> {
    return this.#items.slice().values();
  }
}
