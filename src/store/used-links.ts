import { hash, tables } from './keys.ts';
import type { Operation, Store } from './store.ts';
import { Table } from './table.ts';

/** A sign-in link that was used. */
export interface UsedLink {
  /** SHA-256 of random bytes in the link, lower-case hex. */
  readonly hash: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

const used = new Table<readonly [hash: string], number>(tables.usedLinks, [hash]);

/** The sign-in links that were used, until well after their end: a link works once. */
export class UsedLinks {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  has(linkHash: string): boolean {
    return used.get(this.#store, [linkHash]) !== undefined;
  }

  /** Refused with `ExpectationFailed` when it was used meanwhile: of many uses at once, one wins. */
  use({ hash: linkHash, expiresAt }: UsedLink): Operation[] {
    return [
      used.expect([linkHash], (known) => known === undefined, 'the link is unused'),
      used.put([linkHash], expiresAt),
    ];
  }

  /** Deletes up to `limit` links that ended before `before` (milliseconds). */
  async expired(before: number, limit: number): Promise<Operation[]> {
    const found: Operation[] = [];
    for await (const { key, value } of used.range(this.#store, [])) {
      if (value < before) found.push(used.delete(key));
      if (found.length === limit) break;
    }
    return found;
  }
}
