import { hash, prefixRange, tables, uuid } from './keys.ts';
import type { Operation, Store } from './store.ts';
import { Table } from './table.ts';

/** Whose call it is, and which. */
export interface RepeatableCallPlace {
  readonly userId: string;
  /** SHA-256 of the operation and of the key that the client chose for the call, lower-case hex. */
  readonly callHash: string;
}

/** A call that may be sent again and is done once. */
export interface RepeatableCall {
  /** SHA-256 of its request, lower-case hex. */
  readonly requestHash: string;
  /** What was answered, unreadable without the client's key; null until it is known. */
  readonly reply: Uint8Array | null;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

const calls = new Table<readonly [userId: string, callHash: string], RepeatableCall>(tables.repeatableCalls, [
  uuid,
  hash,
]);

export class RepeatableCalls {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get({ userId, callHash }: RepeatableCallPlace): RepeatableCall | undefined {
    return calls.get(this.#store, [userId, callHash]);
  }

  put({ userId, callHash }: RepeatableCallPlace, call: RepeatableCall): Operation {
    return calls.put([userId, callHash], call);
  }

  delete({ userId, callHash }: RepeatableCallPlace): Operation {
    return calls.delete([userId, callHash]);
  }

  /** How many a person has, counted up to `most`. */
  async count(userId: string, most: number): Promise<number> {
    let count = 0;
    const range = { ...prefixRange(calls.keyOf(userId)), limit: most, values: false };
    for await (const _ of this.#store.range(range)) count += 1;
    return count;
  }

  /** Those whose time is up, at most `limit` of them. */
  async expired(now: number, limit: number): Promise<RepeatableCallPlace[]> {
    const found: RepeatableCallPlace[] = [];
    for await (const { key, value } of calls.range(this.#store, [])) {
      if (value.expiresAt <= now) found.push({ userId: key[0], callHash: key[1] });
      if (found.length === limit) break;
    }
    return found;
  }
}
