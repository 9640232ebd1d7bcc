import { tables, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

export interface PasswordRecord {
  /** Argon2id hash in PHC format, with salt and parameters. */
  readonly hash: string;
  /** Milliseconds since the epoch. */
  readonly changedAt: number;
}

const passwordsTable = new Table<readonly [userId: string], PasswordRecord>(tables.passwords, [uuid]);

/** Passwords by user. */
export class PasswordRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(userId: string): PasswordRecord | undefined {
    return passwordsTable.get(this.#store, [userId]);
  }

  put(userId: string, password: PasswordRecord): WriteOperation {
    return passwordsTable.put([userId], password);
  }

  delete(userId: string): WriteOperation {
    return passwordsTable.delete([userId]);
  }
}
