import { hash, tables, text } from './keys.ts';
import type { Operation, Store } from './store.ts';
import { Table } from './table.ts';

/** A link that signs somebody in, once. */
export interface SignInLink {
  /** SHA-256 of the token, lower-case hex. The token itself is never stored. */
  readonly hash: string;
  /** Whom it signs in: whoever owns this address; null for the operator of the installation. */
  readonly email: string | null;
  /** SHA-256 of what the browser that asked for it holds; null where it was not asked for by a browser. */
  readonly browserHash: string | null;
  /** Where the browser goes then: a path of this server. */
  readonly redirect: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

const links = new Table<readonly [hash: string], SignInLink>(tables.signInLinks, [hash]);
const newest = new Table<readonly [whose: string], string>(tables.signInLinkOf, [text]);

/** No address is empty. */
const operator = '';

/** Sign-in links by the hash of their token; each address has one at most. */
export class SignInLinks {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  byHash(tokenHash: string): SignInLink | undefined {
    return links.get(this.#store, [tokenHash]);
  }

  /** Takes the place of an earlier one for the same address. */
  put(link: SignInLink): Operation[] {
    const whose = link.email ?? operator;
    const earlier = newest.get(this.#store, [whose]);
    return [
      ...(earlier === undefined ? [] : [links.delete([earlier])]),
      links.put([link.hash], link),
      newest.put([whose], link.hash),
    ];
  }

  /** Refused with `ExpectationFailed` when it was used or replaced meanwhile: of many at once, one wins. */
  consume(link: SignInLink): Operation[] {
    return [
      links.expect([link.hash], (known) => known !== undefined, 'the link is unused'),
      links.delete([link.hash]),
      newest.delete([link.email ?? operator]),
    ];
  }

  /** Takes away what nobody can use any more; a newer link of the same address stays. */
  forget({ hash: tokenHash, email }: SignInLink): Operation[] {
    const whose = email ?? operator;
    const isNewest = newest.get(this.#store, [whose]) === tokenHash;
    return [links.delete([tokenHash]), ...(isNewest ? [newest.delete([whose])] : [])];
  }

  /** Those whose time is up, at most `limit` of them. */
  async expired(now: number, limit: number): Promise<SignInLink[]> {
    const found: SignInLink[] = [];
    for await (const { value } of links.range(this.#store, [])) {
      if (value.expiresAt <= now) found.push(value);
      if (found.length === limit) break;
    }
    return found;
  }
}
