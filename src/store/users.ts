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
  /** Since when the administrator keeps this person out; absent otherwise. */
  readonly disabledAt?: number;
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

  /** Those behind an id (null: from the first on), in the order of their ids. */
  async after(userId: string | null, limit: number): Promise<User[]> {
    const found: User[] = [];
    const range = { limit, ...(userId === null ? {} : { gt: users.keyOf(userId) }) };
    for await (const { value } of users.range(this.#store, [], range)) found.push(value);
    return found;
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

  /** Refuses the write unless the user exists by then. */
  expect(userId: string): Operation {
    return users.expect([userId], (known) => known !== undefined, 'the user exists');
  }

  delete({ userId, email }: User): Operation[] {
    return [users.delete([userId]), addresses.delete([email])];
  }

  /** Replaces everything but the address. */
  update(user: User): Operation[] {
    return [
      users.expect([user.userId], (known) => known?.email === user.email, 'the user exists'),
      users.put([user.userId], user),
    ];
  }
}
