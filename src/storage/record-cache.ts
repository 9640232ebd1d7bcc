import { limits } from '../core/limits.ts';
import type { Store } from './store.ts';

/**
 * Records of some tables that are asked for with every request, kept decoded until the next write to one of them. Right
 * without anybody saying what a write changed: whatever it was, the next request reads again.
 */
export class RecordCache<Record extends object> {
  readonly #store: Pick<Store, 'revisionOf'>;
  readonly #tables: readonly number[];
  readonly #records = new Map<string, Record>();
  #revision = -1;

  constructor(store: Pick<Store, 'revisionOf'>, ...tables: readonly number[]) {
    this.#store = store;
    this.#tables = tables;
  }

  /** What `read` answers for this key; a record that does not exist is looked for every time. */
  get<Found extends Record | undefined>(key: string, read: () => Found): Found {
    // Each only grows, so that the sum is the same only while all of them are.
    let revision = 0;
    for (const table of this.#tables) revision += this.#store.revisionOf(table);
    if (revision !== this.#revision || this.#records.size >= limits.cachedRecordsMax) {
      this.#records.clear();
      this.#revision = revision;
    }
    const known = this.#records.get(key);
    if (known !== undefined) return known as Found;
    const found = read();
    if (found !== undefined) this.#records.set(key, found);
    return found;
  }
}
