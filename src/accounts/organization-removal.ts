import { setTimeout as sleep } from 'node:timers/promises';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import type { Logger } from '../core/logger.ts';
import type { ApiKeyRegistry } from './api-key-registry.ts';
import type { Invitations } from './invitations.ts';
import type { Memberships } from './memberships.ts';
import type { OrganizationDirectory } from './organization-directory.ts';

export interface OrganizationRemovalOptions {
  readonly organizations: OrganizationDirectory;
  readonly keys: ApiKeyRegistry;
  readonly memberships: Memberships;
  readonly invitations: Invitations;
  readonly audit: AuditLog;
  /**
   * Deletes collections and records of use; what it does is durable and may be done again. False while some of it has to
   * wait for those who still read it.
   */
  readonly deleteData: (organizationId: string) => Promise<boolean>;
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
export class OrganizationRemoval {
  readonly #options: OrganizationRemovalOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();

  constructor(options: OrganizationRemovalOptions) {
    this.#options = options;
  }

  /** Goes on with what the last run left. */
  async start(): Promise<void> {
    for (const { organizationId } of await this.#options.organizations.listDeleted())
      this.removeInBackground(organizationId);
  }

  /**
   * Ends an organisation: its keys, members and invitations at once, what it stored in the background. Errors: 404 when
   * there is none, 409 for the first of the installation, which `QUARRY_API_KEY` and the first key belong to.
   */
  async deleteOrganization(organizationId: string, by: Actor): Promise<void> {
    const { organizations, keys, memberships, invitations } = this.#options;
    if (organizations.get(organizationId).unlimited)
      throw new AppError('conflict', 'The first organisation of an installation cannot be deleted.');
    await organizations.delete(organizationId, by, [
      ...(await keys.deleteAllOperations(organizationId)),
      ...(await memberships.deleteAllOperations(organizationId)),
      ...(await invitations.deleteAllOperations(organizationId)),
    ]);
    this.removeInBackground(organizationId);
  }

  /** In the background. */
  removeInBackground(organizationId: string): void {
    if (this.#stop.signal.aborted || this.#running.has(organizationId)) return;
    const running = this.#removeWithRetries(organizationId).finally(() =>
      this.#running.delete(organizationId),
    );
    this.#running.set(organizationId, running);
  }

  /** Waits for the step that is under way. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running.values());
  }

  /** Never rejects: what failed is tried again. */
  async #removeWithRetries(organizationId: string): Promise<void> {
    const { logger, retryMs = 1_000 } = this.#options;
    const { signal } = this.#stop;
    let waitMs = retryMs;
    while (!signal.aborted) {
      try {
        if (await this.#tryRemove(organizationId)) return;
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
  async #tryRemove(organizationId: string): Promise<boolean> {
    const { organizations, keys, memberships, invitations, audit, deleteData, logger } = this.#options;
    if (!(await deleteData(organizationId))) return false;
    await audit.deleteAll(organizationId);
    // What was on its way when the organisation was deleted may have been written after it.
    await organizations.purge(organizationId, [
      ...(await keys.deleteAllOperations(organizationId)),
      ...(await memberships.deleteAllOperations(organizationId)),
      ...(await invitations.deleteAllOperations(organizationId)),
      audit.entryOperation({
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
