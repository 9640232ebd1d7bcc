import { hash, prefixRange, tables, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/** Whose call it is, and which. */
export interface IdempotencyKey {
  readonly userId: string;
  /** SHA-256 of the operation and of the key that the client chose for the call, lower-case hex. */
  readonly callHash: string;
}

/** A call that may be sent again and is done once. */
export interface IdempotencyRecord {
  /** SHA-256 of its request, lower-case hex. */
  readonly requestHash: string;
  /** What was answered, unreadable without the client's key; null until it is known. */
  readonly reply: Uint8Array | null;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

const recordsTable = new Table<readonly [userId: string, callHash: string], IdempotencyRecord>(
  tables.repeatableCalls,
  [uuid, hash],
);

export class IdempotencyRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get({ userId, callHash }: IdempotencyKey): IdempotencyRecord | undefined {
    return recordsTable.get(this.#store, [userId, callHash]);
  }

  put({ userId, callHash }: IdempotencyKey, record: IdempotencyRecord): WriteOperation {
    return recordsTable.put([userId, callHash], record);
  }

  delete({ userId, callHash }: IdempotencyKey): WriteOperation {
    return recordsTable.delete([userId, callHash]);
  }

  /** How many a person has, counted up to `most`. */
  async count(userId: string, countMax: number): Promise<number> {
    let count = 0;
    const range = { ...prefixRange(recordsTable.keyOf(userId)), limit: countMax, values: false };
    for await (const _ of this.#store.range(range)) count += 1;
    return count;
  }

  /** Those whose time is up, at most `limit` of them. */
  async listExpired(now: number, limit: number): Promise<IdempotencyKey[]> {
    const found: IdempotencyKey[] = [];
    for await (const { key, value } of recordsTable.range(this.#store, [])) {
      if (value.expiresAt <= now) found.push({ userId: key[0], callHash: key[1] });
      if (found.length === limit) break;
    }
    return found;
  }
}
