import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import { AuditEntries, type AuditEntry, type AuditRange } from '../storage/audit-entries.ts';
import type { Store, WriteOperation } from '../storage/store.ts';

/** Event to record; the log adds id and time. */
export type AuditEvent = Omit<AuditEntry, 'entryId' | 'at' | 'details'> & {
  readonly details?: AuditEntry['details'];
};

/** Actor of an event and its address. */
export type Actor = Pick<AuditEntry, 'actor' | 'address'>;

/** Audit log. An entry is part of the write that it describes, so that neither exists without the other. */
export class AuditLog {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #entries: AuditEntries;

  constructor(options: { readonly store: Store; readonly clock: Clock; readonly random: Random }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#entries = new AuditEntries(options.store);
  }

  /** Operation to be written together with the change that it describes. */
  entryOperation(event: AuditEvent): WriteOperation {
    return this.#entries.put({
      details: {},
      ...event,
      entryId: this.#random.uuid(),
      at: this.#clock.now(),
    });
  }

  /** Records an event without a change, such as a rejected sign-in. */
  record(event: AuditEvent): Promise<void> {
    return this.#store.write([this.entryOperation(event)]);
  }

  /** Entries, newest first. `organizationId`: null for entries that belong to no organization. */
  list(organizationId: string | null, range: AuditRange): Promise<AuditEntry[]> {
    return this.#entries.list(organizationId, range);
  }

  /**
   * Deletes entries of all organizations that are older than `ms` milliseconds. Called by periodic
   * maintenance.
   */
  async deleteOlderThan(
    ms: number,
    { now, signal }: { readonly now: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const before = now - ms;
    while (before > 0 && !signal.aborted) {
      const deletions = await this.#entries.deleteOlderThan(before, limits.auditPageMax);
      if (deletions.length === 0) return;
      await this.#store.write(deletions, { mayUseReserve: true });
    }
  }

  /** Deletes all entries of a deleted organization. */
  async deleteAll(organizationId: string): Promise<void> {
    for (;;) {
      const deletions = await this.#entries.deleteByOrganization(organizationId, limits.auditPageMax);
      if (deletions.length === 0) return;
      await this.#store.write(deletions, { mayUseReserve: true });
    }
  }
}
