import type { AuditLog } from '../audit/audit-log.ts';
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
  /** Deletes collections and records of use; what it does is durable and may be done again. */
  readonly removeData: (organizationId: string) => Promise<void>;
  readonly logger: Logger;
}

/**
 * Takes away what deleted organisations leave: their collections, their records of use, their audit log, and at last
 * their own record. It goes on where it was after a restart, because the record goes last.
 */
export class OrganisationRemoval {
  readonly #options: OrganisationRemovalOptions;
  #last: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: OrganisationRemovalOptions) {
    this.#options = options;
  }

  /** Goes on with what the last run left. */
  async start(): Promise<void> {
    for (const { organizationId } of await this.#options.organisations.deleted()) this.remove(organizationId);
  }

  /** In the background, one after another. */
  remove(organizationId: string): void {
    this.#last = this.#last.then(() => this.#remove(organizationId));
  }

  /** Waits for the one that is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#last;
  }

  /** Never rejects: what failed is tried again after the next start. */
  async #remove(organizationId: string): Promise<void> {
    if (this.#closed) return;
    const { organisations, keys, memberships, invitations, audit, removeData, logger } = this.#options;
    try {
      await removeData(organizationId);
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
    } catch (error) {
      logger.error({ organizationId, error }, 'a deleted organisation is not gone yet');
    }
  }
}
