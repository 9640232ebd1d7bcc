import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { deleteInBatches } from '../storage/delete-in-batches.ts';
import { type Session, SessionRecords } from '../storage/sessions.ts';
import { ExpectationFailedError, type Store, type WriteOperation } from '../storage/store.ts';
import type { ClientInfo } from './client-info.ts';
import { generateToken, hashToken } from './secret-token.ts';

/** 256 bits in base64url behind `zes_`. */
const tokenPattern = /^zes_[A-Za-z0-9_-]{43}$/;

export interface SessionsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
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
  readonly #pendingTouches = new Map<string, Promise<void>>();

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#records = new SessionRecords(options.store);
  }

  /**
   * To be written with whatever signs the person in (null: the administrator); the token is never seen again. `replaces`
   * is the token whose place it takes in a browser: nobody holds that any more, so it ends.
   */
  create(
    userId: string | null,
    client: ClientInfo,
    replacedToken?: string,
  ): { token: string; session: Session; operations: WriteOperation[] } {
    const { random, clock } = this.#options;
    const token = generateToken('zes_', random);
    const now = clock.now();
    const session: Session = {
      sessionId: random.uuid(),
      userId,
      hash: hashToken(token),
      createdAt: now,
      lastSeenAt: now,
      expiresAt: now + (userId === null ? limits.adminSessionMsMax : limits.sessionMsMax),
      address: client.address,
      userAgent: client.userAgent,
    };
    const replaced =
      replacedToken === undefined ? undefined : this.#records.findByHash(hashToken(replacedToken));
    const endOperations =
      replaced === undefined ? [] : this.#endOperations(replaced, { ...client, actor: actorOf(replaced) });
    return { token, session, operations: [...endOperations, ...this.#records.put(session)] };
  }

  /** The open session of a token; undefined for everything else, however it looks. */
  find(token: string): Session | undefined {
    if (!tokenPattern.test(token)) return undefined;
    const session = this.#records.findByHash(hashToken(token));
    if (session === undefined || this.#isExpired(session)) return undefined;
    if (this.#options.clock.now() - session.lastSeenAt >= limits.sessionTouchMs) this.#touch(session);
    return session;
  }

  /** Open sessions of a user (null: of the administrator), the last used first. */
  async list(userId: string | null): Promise<Session[]> {
    const sessions = await this.#records.list(userId);
    return sessions
      .filter((session) => !this.#isExpired(session))
      .sort((a, b) => b.lastSeenAt - a.lastSeenAt);
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
  async deleteAllOperations(userId: string, by: Actor): Promise<WriteOperation[]> {
    const sessions = await this.#records.list(userId);
    return sessions.flatMap((session) => this.#endOperations(session, by));
  }

  /** Forgets what is over at `now` (milliseconds since the epoch); for housekeeping. */
  sweep(now: number, signal?: AbortSignal): Promise<void> {
    const next = async (limit: number) => {
      const ended = await this.#records.listEnded((session) => this.#isExpired(session, now), limit);
      return ended.flatMap((session) => this.#records.delete(session));
    };
    return deleteInBatches(this.#options.store, next, signal);
  }

  /** After a sign-in: ends those that were used longest ago when somebody has more than anybody needs. */
  async enforceSessionLimit(userId: string | null, address: string): Promise<void> {
    const surplus = (await this.list(userId)).slice(limits.sessionsPerUserMax);
    await this.#end(surplus, { actor: 'system', address });
  }

  /** For the start: a password that was changed with the settings must not leave old sessions behind. */
  async endAdministratorSessions(): Promise<void> {
    await this.#end(await this.list(null), { actor: 'system', address: null });
  }

  /** Resolves when every touch is written. */
  async close(): Promise<void> {
    await Promise.all(this.#pendingTouches.values());
  }

  #isExpired({ userId, lastSeenAt, expiresAt }: Session, now = this.#options.clock.now()): boolean {
    const idleMsMax = userId === null ? limits.adminSessionMsMax : limits.sessionIdleMsMax;
    return now >= expiresAt || now - lastSeenAt >= idleMsMax;
  }

  async #end(sessions: readonly Session[], by: Actor, action?: EndAction): Promise<void> {
    if (sessions.length === 0) return;
    const endOperations = sessions.flatMap((session) => this.#endOperations(session, by, action));
    // Also on a full disk: what leaked must end.
    await this.#options.store.write(endOperations, { mayUseReserve: true });
  }

  #endOperations(
    session: Session,
    { actor, address }: Actor,
    action: EndAction = 'session.ended',
  ): WriteOperation[] {
    const auditEvent = { actor, address, organizationId: null, action, target: session.sessionId };
    return [...this.#records.delete(session), this.#options.audit.entryOperation(auditEvent)];
  }

  /** In the background: nobody waits for it, and one that is lost costs a minute of idle time. */
  #touch(session: Session): void {
    if (this.#pendingTouches.has(session.hash)) return;
    const { store, clock, logger } = this.#options;
    const touch = store
      .write(this.#records.touch({ ...session, lastSeenAt: clock.now() }))
      .catch((error: unknown) => {
        if (!(error instanceof ExpectationFailedError))
          logger.warn({ error }, 'the use of a session was not noted');
      })
      .finally(() => this.#pendingTouches.delete(session.hash));
    this.#pendingTouches.set(session.hash, touch);
  }
}

function actorOf({ userId }: Session): string {
  return userId ?? 'administrator';
}
