import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { passkeyLimits } from '../core/passkey-limits.ts';
import { deleteInBatches } from '../storage/delete-in-batches.ts';
import { type Session, SessionRecords } from '../storage/sessions.ts';
import { ExpectationFailedError, type Store, type WriteOperation } from '../storage/store.ts';
import type { ClientInfo } from './client-info.ts';
import { generateToken, hashToken } from './secret-token.ts';

/** `zes_` followed by 256 bits in base64url. */
const tokenPattern = /^zes_[A-Za-z0-9_-]{43}$/;

export interface SessionsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly audit: AuditLog;
  readonly logger: Logger;
}

/**
 * Audit action for the end of a session. The administrator's sign-out has its own action, like the sign-in.
 */
type EndAction = 'session.ended' | 'admin.logout';

/**
 * Sessions of signed-in users. A token is shown once, to its owner. A session ends when it is revoked, after
 * a period without use, and at its expiry, whichever comes first. Every lookup reads the store, so the end of
 * a session takes effect immediately.
 */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #records: SessionRecords;
  /** Updates of the last use that are being written, by session hash. */
  readonly #pendingUseUpdates = new Map<string, Promise<void>>();

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#records = new SessionRecords(options.store);
  }

  /**
   * Creates a session, to be written with the sign-in of the user (null: the administrator). The token is
   * returned only here. `replacedToken`: token that the new one replaces in a browser; its session ends.
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

  /** Returns the open session of a token; undefined for any other input. */
  find(token: string): Session | undefined {
    if (!tokenPattern.test(token)) return undefined;
    const session = this.#records.findByHash(hashToken(token));
    if (session === undefined || this.#isExpired(session)) return undefined;
    if (this.#options.clock.now() - session.lastSeenAt >= limits.sessionTouchMs) this.#updateLastUse(session);
    return session;
  }

  /** Open sessions of a user (null: of the administrator), most recently used first. */
  async list(userId: string | null): Promise<Session[]> {
    const sessions = await this.#records.list(userId);
    return sessions
      .filter((session) => !this.#isExpired(session))
      .sort((a, b) => b.lastSeenAt - a.lastSeenAt);
  }

  /** Whether the user signed in to this session within `recentSignInMsMax`. */
  async isRecent(userId: string, sessionId: string): Promise<boolean> {
    const session = (await this.list(userId)).find((each) => each.sessionId === sessionId);
    return (
      session !== undefined && this.#options.clock.now() - session.createdAt < passkeyLimits.recentSignInMsMax
    );
  }

  /** Signs out. Does nothing for an invalid token. */
  async end(token: string, address: string): Promise<void> {
    const session = this.find(token);
    if (session === undefined) return;
    const action = session.userId === null ? 'admin.logout' : 'session.ended';
    await this.#end([session], { actor: actorOf(session), address }, action);
  }

  /** Ends one session of a user. Errors: 404 if the user has no such session, even if another user has it. */
  async revoke(userId: string, sessionId: string, address: string): Promise<void> {
    const session = (await this.list(userId)).find((each) => each.sessionId === sessionId);
    if (session === undefined) throw new AppError('not_found', `You have no open session "${sessionId}".`);
    await this.#end([session], { actor: userId, address });
  }

  /** Ends all sessions of a user. Returns their number. */
  async revokeAll(userId: string, by: Actor): Promise<number> {
    const sessions = await this.list(userId);
    await this.#end(sessions, by);
    return sessions.length;
  }

  /** Operations that end all sessions of a user, to be written with the deletion of the user. */
  async deleteAllOperations(userId: string, by: Actor): Promise<WriteOperation[]> {
    const sessions = await this.#records.list(userId);
    return sessions.flatMap((session) => this.#endOperations(session, by));
  }

  /** Operations that end all sessions of a user except one, to be written with a change of the password. */
  async deleteOtherOperations(userId: string, keptId: string, by: Actor): Promise<WriteOperation[]> {
    const sessions = await this.#records.list(userId);
    return sessions
      .filter(({ sessionId }) => sessionId !== keptId)
      .flatMap((session) => this.#endOperations(session, by));
  }

  /** Deletes sessions that have ended at `now` (milliseconds since the epoch). Called by periodic maintenance. */
  sweep(now: number, signal?: AbortSignal): Promise<void> {
    const next = async (limit: number) => {
      const ended = await this.#records.listEnded((session) => this.#isExpired(session, now), limit);
      return ended.flatMap((session) => this.#records.delete(session));
    };
    return deleteInBatches(this.#options.store, next, signal);
  }

  /** Ends the least recently used sessions above `sessionsPerUserMax`. Called after a sign-in. */
  async enforceSessionLimit(userId: string | null, address: string): Promise<void> {
    const surplus = (await this.list(userId)).slice(limits.sessionsPerUserMax);
    await this.#end(surplus, { actor: 'system', address });
  }

  /** Called at startup: sessions must not outlive a changed administrator password. */
  async endAdministratorSessions(): Promise<void> {
    await this.#end(await this.list(null), { actor: 'system', address: null });
  }

  /** Resolves when all updates of last use are written. */
  async close(): Promise<void> {
    await Promise.all(this.#pendingUseUpdates.values());
  }

  #isExpired({ userId, lastSeenAt, expiresAt }: Session, now = this.#options.clock.now()): boolean {
    const idleMsMax = userId === null ? limits.adminSessionMsMax : limits.sessionIdleMsMax;
    return now >= expiresAt || now - lastSeenAt >= idleMsMax;
  }

  async #end(sessions: readonly Session[], by: Actor, action?: EndAction): Promise<void> {
    if (sessions.length === 0) return;
    const endOperations = sessions.flatMap((session) => this.#endOperations(session, by, action));
    // Allowed on a full disk: leaked sessions must be revocable.
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

  /** Updates the last use in the background. A lost update shortens the idle time by a minute. */
  #updateLastUse(session: Session): void {
    if (this.#pendingUseUpdates.has(session.hash)) return;
    const { store, clock, logger } = this.#options;
    const touch = store
      .write(this.#records.touch({ ...session, lastSeenAt: clock.now() }))
      .catch((error: unknown) => {
        if (!(error instanceof ExpectationFailedError))
          logger.warn({ error: String(error) }, 'recording the use of a session failed');
      })
      .finally(() => this.#pendingUseUpdates.delete(session.hash));
    this.#pendingUseUpdates.set(session.hash, touch);
  }
}

function actorOf({ userId }: Session): string {
  return userId ?? 'administrator';
}
