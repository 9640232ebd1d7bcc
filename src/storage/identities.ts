import { tables, text } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/** A person's account at an identity provider, which names them by `subject` for ever; an address can change hands. */
export interface IdentityKey {
  readonly issuer: string;
  readonly subject: string;
}

const identitiesTable = new Table<readonly [issuer: string, subject: string], string>(tables.identities, [
  text,
  text,
]);

/** Which account at an identity provider belongs to which user. */
export class Identities {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  findUserId({ issuer, subject }: IdentityKey): string | undefined {
    return identitiesTable.get(this.#store, [issuer, subject]);
  }

  /** Refused with `ExpectationFailed` when the identity is another user's by then. */
  link({ issuer, subject }: IdentityKey, userId: string): WriteOperation[] {
    return [
      identitiesTable.expect(
        [issuer, subject],
        (known) => known === undefined || known === userId,
        'the identity is nobody else’s',
      ),
      identitiesTable.put([issuer, subject], userId),
    ];
  }

  /** Ends the links of a user to identity providers; reads all of them. */
  async deleteByUser(userId: string): Promise<WriteOperation[]> {
    const found: WriteOperation[] = [];
    for await (const { key, value } of identitiesTable.range(this.#store, [])) {
      if (value === userId) found.push(identitiesTable.delete(key));
    }
    return found;
  }
}
