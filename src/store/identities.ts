import { tables, text } from './keys.ts';
import type { Operation, Store } from './store.ts';
import { Table } from './table.ts';

/** A person's account at an identity provider, which names them by `subject` for ever; an address can change hands. */
export interface IdentityPlace {
  readonly issuer: string;
  readonly subject: string;
}

const identities = new Table<readonly [issuer: string, subject: string], string>(tables.identities, [
  text,
  text,
]);

/** Which account at an identity provider belongs to which user. */
export class Identities {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  userOf({ issuer, subject }: IdentityPlace): string | undefined {
    return identities.get(this.#store, [issuer, subject]);
  }

  /** Refused with `ExpectationFailed` when the identity is another user's by then. */
  link({ issuer, subject }: IdentityPlace, userId: string): Operation[] {
    return [
      identities.expect(
        [issuer, subject],
        (known) => known === undefined || known === userId,
        'the identity is nobody else’s',
      ),
      identities.put([issuer, subject], userId),
    ];
  }

  /** Ends the links of a user to identity providers; reads all of them. */
  async unlink(userId: string): Promise<Operation[]> {
    const found: Operation[] = [];
    for await (const { key, value } of identities.range(this.#store, [])) {
      if (value === userId) found.push(identities.delete(key));
    }
    return found;
  }
}
