import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { deleteInGroups } from '../store/delete-in-groups.ts';
import { type Session, SessionRecords } from '../store/sessions.ts';
import { ExpectationFailed, type Operation, type Store } from '../store/store.ts';
import { newToken, tokenDigest } from './secret-token.ts';
import type { Visitor } from './visitor.ts';

/** 256 bits in base64url behind `zes_`. */
const tokenShape = /^zes_[A-Za-z0-9_-]{43}$/;

export interface SessionsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly audit: AuditLog;
  readonly logger: Logger;
}

/** What the audit log calls an end; the administrator who signs out is named apart, as who signs in is. */
type EndAction = 'session.ended' | 'admin.logout';

/**
 * Who has signed in. A token is shown once, to its owner; a session ends when it is revoked, when nobody used it for a
 * while, and at its end in any case, whichever comes first. Every look-up reads the store, so an end is felt at once.
 */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #records: SessionRecords;
  /** Touches on their way, by session. */
  readonly #touches = new Map<string, Promise<void>>();

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#records = new SessionRecords(options.store);
  }

  /**
   * To be written with whatever signs the person in (null: the administrator); the token is never seen again. `replaces`
   * is the token whose place it takes in a browser: nobody holds that any more, so it ends.
   */
  open(
    userId: string | null,
    visitor: Visitor,
    replaces?: string,
  ): { token: string; session: Session; operations: Operation[] } {
    const { chance, clock } = this.#options;
    const token = newToken('zes_', chance);
    const now = clock.now();
    const session: Session = {
      sessionId: chance.uuid(),
      userId,
      hash: tokenDigest(token),
      createdAt: now,
      lastSeenAt: now,
      expiresAt: now + (userId === null ? limits.adminSessionMsMax : limits.sessionMsMax),
      address: visitor.address,
      userAgent: visitor.userAgent,
    };
    const replaced = replaces === undefined ? undefined : this.#records.byHash(tokenDigest(replaces));
    const ends =
      replaced === undefined ? [] : this.#endOf(replaced, { ...visitor, actor: actorOf(replaced) });
    return { token, session, operations: [...ends, ...this.#records.put(session)] };
  }

  /** The open session of a token; undefined for everything else, however it looks. */
  find(token: string): Session | undefined {
    if (!tokenShape.test(token)) return undefined;
    const session = this.#records.byHash(tokenDigest(token));
    if (session === undefined || this.#isOver(session)) return undefined;
    if (this.#options.clock.now() - session.lastSeenAt >= limits.sessionTouchMs) this.#touch(session);
    return session;
  }

  /** Open sessions of a user (null: of the administrator), the last used first. */
  async list(userId: string | null): Promise<Session[]> {
    const sessions = await this.#records.list(userId);
    return sessions.filter((session) => !this.#isOver(session)).sort((a, b) => b.lastSeenAt - a.lastSeenAt);
  }

  /** Signs out. Harmless for a token that opens nothing. */
  async end(token: string, address: string): Promise<void> {
    const session = this.find(token);
    if (session === undefined) return;
    const action = session.userId === null ? 'admin.logout' : 'session.ended';
    await this.#end([session], { actor: actorOf(session), address }, action);
  }

  /** Ends one session of a user. 404 when the user has no such session, whoever else may have it. */
  async revoke(userId: string, sessionId: string, address: string): Promise<void> {
    const session = (await this.list(userId)).find((each) => each.sessionId === sessionId);
    if (session === undefined) throw new AppError('not_found', `You have no open session "${sessionId}".`);
    await this.#end([session], { actor: userId, address });
  }

  /** Ends all sessions of a user; returns how many there were. */
  async revokeAll(userId: string, by: Actor): Promise<number> {
    const sessions = await this.list(userId);
    await this.#end(sessions, by);
    return sessions.length;
  }

  /** To be written with the end of a person: ends all of their sessions. */
  async endAll(userId: string, by: Actor): Promise<Operation[]> {
    const sessions = await this.#records.list(userId);
    return sessions.flatMap((session) => this.#endOf(session, by));
  }

  /** Forgets what is over at `now` (milliseconds since the epoch); for housekeeping. */
  sweep(now: number, signal?: AbortSignal): Promise<void> {
    const next = async (limit: number) => {
      const ended = await this.#records.ended((session) => this.#isOver(session, now), limit);
      return ended.flatMap((session) => this.#records.delete(session));
    };
    return deleteInGroups(this.#options.store, next, signal);
  }

  /** After a sign-in: ends those that were used longest ago when somebody has more than anybody needs. */
  async endSurplus(userId: string | null, address: string): Promise<void> {
    const surplus = (await this.list(userId)).slice(limits.sessionsPerPersonMax);
    await this.#end(surplus, { actor: 'system', address });
  }

  /** For the start: a password that was changed with the settings must not leave old sessions behind. */
  async endAdministrators(): Promise<void> {
    await this.#end(await this.list(null), { actor: 'system', address: null });
  }

  /** Resolves when every touch is written. */
  async close(): Promise<void> {
    await Promise.all(this.#touches.values());
  }

  #isOver({ userId, lastSeenAt, expiresAt }: Session, now = this.#options.clock.now()): boolean {
    const idleMsMax = userId === null ? limits.adminSessionMsMax : limits.sessionIdleMsMax;
    return now >= expiresAt || now - lastSeenAt >= idleMsMax;
  }

  async #end(sessions: readonly Session[], by: Actor, action?: EndAction): Promise<void> {
    if (sessions.length === 0) return;
    const ends = sessions.flatMap((session) => this.#endOf(session, by, action));
    // Also on a full disk: what leaked must end.
    await this.#options.store.write(ends, { mayUseReserve: true });
  }

  #endOf(session: Session, { actor, address }: Actor, action: EndAction = 'session.ended'): Operation[] {
    const fact = { actor, address, organizationId: null, action, target: session.sessionId };
    return [...this.#records.delete(session), this.#options.audit.entry(fact)];
  }

  /** In the background: nobody waits for it, and one that is lost costs a minute of idle time. */
  #touch(session: Session): void {
    if (this.#touches.has(session.hash)) return;
    const { store, clock, logger } = this.#options;
    const touched = store
      .write(this.#records.touch({ ...session, lastSeenAt: clock.now() }))
      .catch((error: unknown) => {
        if (!(error instanceof ExpectationFailed))
          logger.warn({ error }, 'the use of a session was not noted');
      })
      .finally(() => this.#touches.delete(session.hash));
    this.#touches.set(session.hash, touched);
  }
}

function actorOf({ userId }: Session): string {
  return userId ?? 'administrator';
}
