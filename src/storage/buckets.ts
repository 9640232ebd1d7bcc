import { tables, text, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/** Saved state of a rate limit, so that a restart does not refill it. */
export interface SavedBucket {
  readonly balance: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

const bucketsTable = new Table<readonly [organizationId: string, limit: string], SavedBucket>(
  tables.buckets,
  [uuid, text],
);

/** Rate limit buckets by organization and limit. */
export class SavedBuckets {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(organizationId: string, limit: string): SavedBucket | undefined {
    return bucketsTable.get(this.#store, [organizationId, limit]);
  }

  put(organizationId: string, limit: string, saved: SavedBucket): WriteOperation {
    return bucketsTable.put([organizationId, limit], saved);
  }

  /** Deletes all buckets of a deleted organization. */
  async deleteAll(organizationId: string): Promise<WriteOperation[]> {
    const found: WriteOperation[] = [];
    for await (const key of bucketsTable.keys(this.#store, [organizationId]))
      found.push({ type: 'delete', key });
    return found;
  }
}
