import { tables, text, uuid } from './keys.ts';
import type { Operation, Store } from './store.ts';
import { Table } from './table.ts';

export interface User {
  readonly userId: string;
  /** Normalised, proved to be theirs, and unique in the installation. */
  readonly email: string;
  readonly name: string | null;
  readonly avatarUrl: string | null;
  readonly company: string | null;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly lastLoginAt: number;
}

const users = new Table<readonly [userId: string], User>(tables.users, [uuid]);
const addresses = new Table<readonly [email: string], string>(tables.userEmail, [text]);

/** People by id and by their address. */
export class Users {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(userId: string): User | undefined {
    return users.get(this.#store, [userId]);
  }

  getMany(userIds: readonly string[]): (User | undefined)[] {
    return users.getMany(
      this.#store,
      userIds.map((userId) => [userId]),
    );
  }

  byEmail(email: string): User | undefined {
    const userId = addresses.get(this.#store, [email]);
    return userId === undefined ? undefined : this.get(userId);
  }

  /** Refused with `ExpectationFailed` when the address has a user at the moment of the write. */
  create(user: User): Operation[] {
    return [
      addresses.expect([user.email], (taken) => taken === undefined, 'the address has no user'),
      users.put([user.userId], user),
      addresses.put([user.email], user.userId),
    ];
  }

  /** Replaces everything but the address. */
  update(user: User): Operation[] {
    return [
      users.expect([user.userId], (known) => known?.email === user.email, 'the user exists'),
      users.put([user.userId], user),
    ];
  }
}
