import { hash, tables, uuid } from './keys.ts';
import type { Operation, Store } from './store.ts';
import { Table } from './table.ts';

export interface Session {
  readonly sessionId: string;
  /** Whose; null for the administrator, who is no user. */
  readonly userId: string | null;
  /** SHA-256 of the token, lower-case hex. The token itself is never stored. */
  readonly hash: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Written once a minute at most. */
  readonly lastSeenAt: number;
  /** The end, however much it is used. */
  readonly expiresAt: number;
  /** Where it was opened. */
  readonly address: string;
  readonly userAgent: string;
}

/** The administrator's sessions are listed under an id that no user has. */
const administratorId = '00000000-0000-0000-0000-000000000000';

const sessions = new Table<readonly [hash: string], Session>(tables.sessions, [hash]);
const userSessions = new Table<readonly [userId: string, sessionId: string], string>(tables.userSessions, [
  uuid,
  uuid,
]);

/** Sessions by the hash of their token and by user. */
export class SessionRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  byHash(tokenHash: string): Session | undefined {
    return sessions.get(this.#store, [tokenHash]);
  }

  /** Those of one user (null: of the administrator), in no order. */
  async list(userId: string | null): Promise<Session[]> {
    const found: Session[] = [];
    for await (const { value } of userSessions.range(this.#store, [userId ?? administratorId])) {
      const session = this.byHash(value);
      if (session !== undefined) found.push(session);
    }
    return found;
  }

  /** Those that ended before `now`, at most `limit` of them; reads all. */
  async ended(isOver: (session: Session) => boolean, limit: number): Promise<Session[]> {
    const found: Session[] = [];
    for await (const { value } of sessions.range(this.#store, [])) {
      if (isOver(value)) found.push(value);
      if (found.length === limit) break;
    }
    return found;
  }

  put(session: Session): Operation[] {
    return [
      sessions.put([session.hash], session),
      userSessions.put([session.userId ?? administratorId, session.sessionId], session.hash),
    ];
  }

  /** Refused with `ExpectationFailed` when the session ended meanwhile, so that a late touch brings none back. */
  touch(session: Session): Operation[] {
    return [
      sessions.expect([session.hash], (known) => known !== undefined, 'the session is open'),
      sessions.put([session.hash], session),
    ];
  }

  delete(session: Session): Operation[] {
    return [
      sessions.delete([session.hash]),
      userSessions.delete([session.userId ?? administratorId, session.sessionId]),
    ];
  }
}
