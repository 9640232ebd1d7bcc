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
   * Deletes collections and usage records. Durable and idempotent. Returns false while some of the data is
   * still being read.
   */
  readonly deleteData: (organizationId: string) => Promise<boolean>;
  readonly logger: Logger;
  /** Milliseconds until the first retry. */
  readonly retryMs?: number;
}

/** Maximum delay of the exponential backoff: the payment provider may be unavailable for hours. */
const retryMsMax = 60_000;

/**
 * Removes the data of deleted organizations: collections, usage records, audit log, and finally their record.
 * Because the record is deleted last, removal resumes after a restart.
 */
export class OrganizationRemoval {
  readonly #options: OrganizationRemovalOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();

  constructor(options: OrganizationRemovalOptions) {
    this.#options = options;
  }

  /** Resumes removals that the last run did not finish. */
  async start(): Promise<void> {
    for (const { organizationId } of await this.#options.organizations.listDeleted())
      this.removeInBackground(organizationId);
  }

  /**
   * Deletes an organization: its keys, members and invitations immediately, its data in the background.
   * Errors: 404 if there is none; 409 for the first organization of the installation, which owns
   * `QUARRY_API_KEY` and the first key.
   */
  async deleteOrganization(organizationId: string, by: Actor): Promise<void> {
    const { organizations, keys, memberships, invitations } = this.#options;
    if (organizations.get(organizationId).unlimited)
      throw new AppError('conflict', 'The first organization of an installation cannot be deleted.');
    await organizations.delete(organizationId, by, [
      ...(await keys.deleteAllOperations(organizationId)),
      ...(await memberships.deleteAllOperations(organizationId)),
      ...(await invitations.deleteAllOperations(organizationId)),
    ]);
    this.removeInBackground(organizationId);
  }

  /** Starts the removal of the data. */
  removeInBackground(organizationId: string): void {
    if (this.#stop.signal.aborted || this.#running.has(organizationId)) return;
    const running = this.#removeWithRetries(organizationId).finally(() =>
      this.#running.delete(organizationId),
    );
    this.#running.set(organizationId, running);
  }

  /** Waits for running steps. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running.values());
  }

  /** Retries failures. Never rejects. */
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
        logger.error({ organizationId, error: String(error) }, 'organization removal failed, will retry');
      }
      // An abort by `close` is not a failure.
      await sleep(waitMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** Returns false if it must be retried. */
  async #tryRemove(organizationId: string): Promise<boolean> {
    const { organizations, keys, memberships, invitations, audit, deleteData, logger } = this.#options;
    if (!(await deleteData(organizationId))) return false;
    await audit.deleteAll(organizationId);
    // Requests in flight during the deletion may have written after it.
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
    logger.info({ organizationId }, 'organization removed');
    return true;
  }
}
