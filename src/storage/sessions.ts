import { hash, tables, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

export interface Session {
  readonly sessionId: string;
  /** Id of the user; null for the administrator, who is not a user. */
  readonly userId: string | null;
  /** SHA-256 of the token, lower-case hex. The token itself is never stored. */
  readonly hash: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Updated at most once per minute. */
  readonly lastSeenAt: number;
  /** Absolute expiration time, regardless of use. */
  readonly expiresAt: number;
  /** Network address from which it was opened. */
  readonly address: string;
  readonly userAgent: string;
}

/** User id, used by no user, under which the administrator's sessions are listed. */
const administratorId = '00000000-0000-0000-0000-000000000000';

const sessionsTable = new Table<readonly [hash: string], Session>(tables.sessions, [hash]);
const userSessionsTable = new Table<readonly [userId: string, sessionId: string], string>(
  tables.userSessions,
  [uuid, uuid],
);

/** Sessions by the hash of their token and by user. */
export class SessionRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  findByHash(tokenHash: string): Session | undefined {
    return sessionsTable.get(this.#store, [tokenHash]);
  }

  /** Returns the sessions of a user (null: of the administrator), unordered. */
  async list(userId: string | null): Promise<Session[]> {
    const found: Session[] = [];
    for await (const { value } of userSessionsTable.range(this.#store, [userId ?? administratorId])) {
      const session = this.findByHash(value);
      if (session !== undefined) found.push(session);
    }
    return found;
  }

  /** Returns up to `limit` sessions for which `hasEnded` is true; scans all. */
  async listEnded(hasEnded: (session: Session) => boolean, limit: number): Promise<Session[]> {
    const found: Session[] = [];
    for await (const { value } of sessionsTable.range(this.#store, [])) {
      if (hasEnded(value)) found.push(value);
      if (found.length === limit) break;
    }
    return found;
  }

  put(session: Session): WriteOperation[] {
    return [
      sessionsTable.put([session.hash], session),
      userSessionsTable.put([session.userId ?? administratorId, session.sessionId], session.hash),
    ];
  }

  /**
   * Errors: `ExpectationFailedError` if the session ended meanwhile, so that a late update does not restore
   * it.
   */
  touch(session: Session): WriteOperation[] {
    return [
      sessionsTable.expect([session.hash], (known) => known !== undefined, 'the session is open'),
      sessionsTable.put([session.hash], session),
    ];
  }

  delete(session: Session): WriteOperation[] {
    return [
      sessionsTable.delete([session.hash]),
      userSessionsTable.delete([session.userId ?? administratorId, session.sessionId]),
    ];
  }
}
