import { tables, text } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/** An account at an identity provider. `subject` is permanent, whereas an email address can be reassigned. */
export interface IdentityKey {
  readonly issuer: string;
  readonly subject: string;
}

const identitiesTable = new Table<readonly [issuer: string, subject: string], string>(tables.identities, [
  text,
  text,
]);

/** Mapping of accounts at identity providers to users. */
export class Identities {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  findUserId({ issuer, subject }: IdentityKey): string | undefined {
    return identitiesTable.get(this.#store, [issuer, subject]);
  }

  /** Errors: `ExpectationFailedError` if the identity is linked to another user when the write is applied. */
  link({ issuer, subject }: IdentityKey, userId: string): WriteOperation[] {
    return [
      identitiesTable.expect(
        [issuer, subject],
        (known) => known === undefined || known === userId,
        'the identity is not linked to another user’s',
      ),
      identitiesTable.put([issuer, subject], userId),
    ];
  }

  /** Deletes the links of a user to identity providers; scans all links. */
  async deleteByUser(userId: string): Promise<WriteOperation[]> {
    const found: WriteOperation[] = [];
    for await (const { key, value } of identitiesTable.range(this.#store, [])) {
      if (value === userId) found.push(identitiesTable.delete(key));
    }
    return found;
  }
}
