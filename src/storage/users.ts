import { putDeletion } from './deletions.ts';
import { tables, text, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

export interface User {
  readonly userId: string;
  /** Normalized, and unique in the installation. */
  readonly email: string;
  readonly name: string | null;
  readonly avatarUrl: string | null;
  readonly company: string | null;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly lastLoginAt: number;
  /** Time at which the administrator disabled the user; absent otherwise. */
  readonly disabledAt?: number;
  /** Set for a user who joined with an invitation that was not sent by mail, until a sign-in verifies the address. */
  readonly isEmailUnverified?: true;
}

const usersTable = new Table<readonly [userId: string], User>(tables.users, [uuid]);
const emailTable = new Table<readonly [email: string], string>(tables.userEmail, [text]);

/** Users by id and by email address. */
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

  /** Returns up to `limit` users after an id (null: from the first), ordered by id. */
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

  /** Errors: `ExpectationFailedError` if the address has a user when the write is applied. */
  create(user: User): WriteOperation[] {
    return [
      emailTable.expect([user.email], (taken) => taken === undefined, 'the email address is unused'),
      usersTable.put([user.userId], user),
      emailTable.put([user.email], user.userId),
    ];
  }

  /** Rejects the write unless the user exists when it is applied. */
  expect(userId: string): WriteOperation {
    return usersTable.expect([userId], (known) => known !== undefined, 'the user exists');
  }

  delete({ userId, email }: User): WriteOperation[] {
    return [usersTable.delete([userId]), emailTable.delete([email]), putDeletion('user', userId)];
  }

  /**
   * Replaces all fields except the address. Errors: `ExpectationFailedError` if the user is gone or has
   * another address.
   */
  update(user: User): WriteOperation[] {
    return [
      usersTable.expect([user.userId], (known) => known?.email === user.email, 'the user exists'),
      usersTable.put([user.userId], user),
    ];
  }
}
