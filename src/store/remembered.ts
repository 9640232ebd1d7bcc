import { limits } from '../base/limits.ts';
import type { Store } from './store.ts';

/**
 * Records of one table that are asked for with every request, kept decoded until the next write to the table. Right
 * without anybody saying what a write changed: whatever it was, the next request reads again.
 */
export class Remembered<Record extends object> {
  readonly #store: Pick<Store, 'revisionOf'>;
  readonly #table: number;
  readonly #records = new Map<string, Record>();
  #revision = -1;

  constructor(store: Pick<Store, 'revisionOf'>, table: number) {
    this.#store = store;
    this.#table = table;
  }

  /** What `read` answers for this key; a record that does not exist is looked for every time. */
  get<Found extends Record | undefined>(key: string, read: () => Found): Found {
    const revision = this.#store.revisionOf(this.#table);
    if (revision !== this.#revision || this.#records.size >= limits.rememberedRecordsMax) {
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
