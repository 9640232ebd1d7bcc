import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import { AuditEntries, type AuditEntry, type AuditRange } from '../storage/audit-entries.ts';
import type { Store, WriteOperation } from '../storage/store.ts';

/** What an action tells of itself; the log adds when. */
export type AuditEvent = Omit<AuditEntry, 'entryId' | 'at' | 'details'> & {
  readonly details?: AuditEntry['details'];
};

/** Who did it, and from where. */
export type Actor = Pick<AuditEntry, 'actor' | 'address'>;

/** Who did what when. An entry joins the write of what it tells of, so that there is never one without the other. */
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

  /** To be written together with what it tells of. */
  entryOperation(event: AuditEvent): WriteOperation {
    return this.#entries.put({
      details: {},
      ...event,
      entryId: this.#random.uuid(),
      at: this.#clock.now(),
    });
  }

  /** For what changed nothing, such as a refused sign-in. */
  record(event: AuditEvent): Promise<void> {
    return this.#store.write([this.entryOperation(event)]);
  }

  /** Newest first; null: what belongs to no organisation. */
  list(organizationId: string | null, range: AuditRange): Promise<AuditEntry[]> {
    return this.#entries.list(organizationId, range);
  }

  /** Forgets what is older than this many milliseconds, of everybody; for housekeeping. */
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

  /** Everything of an organisation that is gone. */
  async deleteAll(organizationId: string): Promise<void> {
    for (;;) {
      const deletions = await this.#entries.deleteByOrganization(organizationId, limits.auditPageMax);
      if (deletions.length === 0) return;
      await this.#store.write(deletions, { mayUseReserve: true });
    }
  }
}
