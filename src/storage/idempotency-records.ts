import { hash, prefixRange, tables, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/** Identifies a repeatable call of a user. */
export interface IdempotencyKey {
  readonly userId: string;
  /** SHA-256 of the operation and the client's idempotency key, lower-case hex. */
  readonly callHash: string;
}

/** Record of a call that may be repeated but is executed only once. */
export interface IdempotencyRecord {
  /** SHA-256 of the request, lower-case hex. */
  readonly requestHash: string;
  /** The reply, sealed so that it is unreadable without the client's key; null until it is known. */
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

  /** Counts the records of a user, up to `countMax`. */
  async count(userId: string, countMax: number): Promise<number> {
    let count = 0;
    const range = { ...prefixRange(recordsTable.keyOf(userId)), limit: countMax, values: false };
    for await (const _ of this.#store.range(range)) count += 1;
    return count;
  }

  /** Returns up to `limit` expired records. */
  async listExpired(now: number, limit: number): Promise<IdempotencyKey[]> {
    const found: IdempotencyKey[] = [];
    for await (const { key, value } of recordsTable.range(this.#store, [])) {
      if (value.expiresAt <= now) found.push({ userId: key[0], callHash: key[1] });
      if (found.length === limit) break;
    }
    return found;
  }
}
