import { tables, text, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
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

const usersTable = new Table<readonly [userId: string], User>(tables.users, [uuid]);
const emailTable = new Table<readonly [email: string], string>(tables.userEmail, [text]);

/** People by id and by their address. */
export class Users {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(userId: string): User | undefined {
    return usersTable.get(this.#store, [userId]);
  }

  getMany(userIds: readonly string[]): (User | undefined)[] {
    return usersTable.getMany(
      this.#store,
      userIds.map((userId) => [userId]),
    );
  }

  /** Those behind an id (null: from the first on), in the order of their ids. */
  async listAfter(userId: string | null, limit: number): Promise<User[]> {
    const found: User[] = [];
    const range = { limit, ...(userId === null ? {} : { gt: usersTable.keyOf(userId) }) };
    for await (const { value } of usersTable.range(this.#store, [], range)) found.push(value);
    return found;
  }

  findByEmail(email: string): User | undefined {
    const userId = emailTable.get(this.#store, [email]);
    return userId === undefined ? undefined : this.get(userId);
  }

  /** Refused with `ExpectationFailed` when the address has a user at the moment of the write. */
  create(user: User): WriteOperation[] {
    return [
      emailTable.expect([user.email], (taken) => taken === undefined, 'the address has no user'),
      usersTable.put([user.userId], user),
      emailTable.put([user.email], user.userId),
    ];
  }

  /** Refuses the write unless the user exists by then. */
  expect(userId: string): WriteOperation {
    return usersTable.expect([userId], (known) => known !== undefined, 'the user exists');
  }

  delete({ userId, email }: User): WriteOperation[] {
    return [usersTable.delete([userId]), emailTable.delete([email])];
  }

  /** Replaces everything but the address. */
  update(user: User): WriteOperation[] {
    return [
      usersTable.expect([user.userId], (known) => known?.email === user.email, 'the user exists'),
      usersTable.put([user.userId], user),
    ];
  }
}
