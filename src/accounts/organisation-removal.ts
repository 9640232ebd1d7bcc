import { setTimeout as sleep } from 'node:timers/promises';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import type { Logger } from '../base/logger.ts';
import type { Invitations } from './invitations.ts';
import type { KeyRing } from './key-ring.ts';
import type { Memberships } from './memberships.ts';
import type { OrganisationDirectory } from './organisation-directory.ts';

export interface OrganisationRemovalOptions {
  readonly organisations: OrganisationDirectory;
  readonly keys: KeyRing;
  readonly memberships: Memberships;
  readonly invitations: Invitations;
  readonly audit: AuditLog;
  /**
   * Deletes collections and records of use; what it does is durable and may be done again. False while some of it has to
   * wait for those who still read it.
   */
  readonly removeData: (organizationId: string) => Promise<boolean>;
  readonly logger: Logger;
  /** Milliseconds until it is tried again. */
  readonly retryMs?: number;
}

/** What fails again and again is tried less and less often: the payment provider may be away for hours. */
const retryMsMax = 60_000;

/**
 * Takes away what deleted organisations leave: their collections, their records of use, their audit log, and at last
 * their own record. It goes on where it was after a restart, because the record goes last.
 */
export class OrganisationRemoval {
  readonly #options: OrganisationRemovalOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();

  constructor(options: OrganisationRemovalOptions) {
    this.#options = options;
  }

  /** Goes on with what the last run left. */
  async start(): Promise<void> {
    for (const { organizationId } of await this.#options.organisations.deleted()) this.remove(organizationId);
  }

  /**
   * Ends an organisation: its keys, members and invitations at once, what it stored in the background. Errors: 404 when
   * there is none, 409 for the first of the installation, which `QUARRY_API_KEY` and the first key belong to.
   */
  async begin(organizationId: string, by: Actor): Promise<void> {
    const { organisations, keys, memberships, invitations } = this.#options;
    if (organisations.get(organizationId).unlimited)
      throw new AppError('conflict', 'The first organisation of an installation cannot be deleted.');
    await organisations.delete(organizationId, by, [
      ...(await keys.endAll(organizationId)),
      ...(await memberships.endAll(organizationId)),
      ...(await invitations.endAll(organizationId)),
    ]);
    this.remove(organizationId);
  }

  /** In the background. */
  remove(organizationId: string): void {
    if (this.#stop.signal.aborted || this.#running.has(organizationId)) return;
    const running = this.#untilGone(organizationId).finally(() => this.#running.delete(organizationId));
    this.#running.set(organizationId, running);
  }

  /** Waits for the step that is under way. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running.values());
  }

  /** Never rejects: what failed is tried again. */
  async #untilGone(organizationId: string): Promise<void> {
    const { logger, retryMs = 1_000 } = this.#options;
    const { signal } = this.#stop;
    let waitMs = retryMs;
    while (!signal.aborted) {
      try {
        if (await this.#remove(organizationId)) return;
        waitMs = retryMs;
      } catch (error) {
        waitMs = Math.min(2 * waitMs, retryMsMax);
        logger.error({ organizationId, error: String(error) }, 'a deleted organisation is not gone yet');
      }
      // Ended early by `close`, which is no failure.
      await sleep(waitMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** False when it has to be tried again. */
  async #remove(organizationId: string): Promise<boolean> {
    const { organisations, keys, memberships, invitations, audit, removeData, logger } = this.#options;
    if (!(await removeData(organizationId))) return false;
    await audit.forget(organizationId);
    // What was on its way when the organisation was deleted may have been written after it.
    await organisations.purge(organizationId, [
      ...(await keys.endAll(organizationId)),
      ...(await memberships.endAll(organizationId)),
      ...(await invitations.endAll(organizationId)),
      audit.entry({
        organizationId: null,
        actor: 'system',
        address: null,
        action: 'organization.removed',
        target: organizationId,
      }),
    ]);
    logger.info({ organizationId }, 'a deleted organisation is gone');
    return true;
  }
}
