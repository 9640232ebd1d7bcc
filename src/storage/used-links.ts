import { hash, tables } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/** A sign-in link or a challenge of a passkey that was used. */
export interface UsedLink {
  /** SHA-256 of random bytes in the link, or of the challenge, lower-case hex. */
  readonly hash: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

const usedLinksTable = new Table<readonly [hash: string], number>(tables.usedLinks, [hash]);

/**
 * Used sign-in links and challenges of passkeys, stored until well after their expiration, so that each of them works once.
 */
export class UsedLinks {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  has(linkHash: string): boolean {
    return usedLinksTable.get(this.#store, [linkHash]) !== undefined;
  }

  /** Errors: `ExpectationFailedError` if the link was used meanwhile: of concurrent uses, only one succeeds. */
  markUsed({ hash: linkHash, expiresAt }: UsedLink): WriteOperation[] {
    return [
      usedLinksTable.expect([linkHash], (known) => known === undefined, 'the link is unused'),
      usedLinksTable.put([linkHash], expiresAt),
    ];
  }

  /** Deletes up to `limit` links that expired before `before` (milliseconds). */
  async deleteExpired(before: number, limit: number): Promise<WriteOperation[]> {
    const found: WriteOperation[] = [];
    for await (const { key, value } of usedLinksTable.range(this.#store, [])) {
      if (value < before) found.push(usedLinksTable.delete(key));
      if (found.length === limit) break;
    }
    return found;
  }
}
