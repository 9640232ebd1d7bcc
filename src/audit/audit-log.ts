import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { AuditEntries, type AuditEntry, type AuditRange } from '../store/audit-entries.ts';
import type { Operation, Store } from '../store/store.ts';

/** What an action tells of itself; the log adds when. */
export type AuditFact = Omit<AuditEntry, 'entryId' | 'at' | 'details'> & {
  readonly details?: AuditEntry['details'];
};

/** Who did it, and from where. */
export type Actor = Pick<AuditEntry, 'actor' | 'address'>;

/** Who did what when. An entry joins the write of what it tells of, so that there is never one without the other. */
export class AuditLog {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #chance: Chance;
  readonly #entries: AuditEntries;

  constructor(options: { readonly store: Store; readonly clock: Clock; readonly chance: Chance }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#chance = options.chance;
    this.#entries = new AuditEntries(options.store);
  }

  /** To be written together with what it tells of. */
  entry(fact: AuditFact): Operation {
    return this.#entries.put({
      details: {},
      ...fact,
      entryId: this.#chance.uuid(),
      at: this.#clock.now(),
    });
  }

  /** For what changed nothing, such as a refused sign-in. */
  record(fact: AuditFact): Promise<void> {
    return this.#store.write([this.entry(fact)]);
  }

  /** Newest first; null: what belongs to no organisation. */
  list(organizationId: string | null, range: AuditRange): Promise<AuditEntry[]> {
    return this.#entries.list(organizationId, range);
  }

  /** Forgets what is older than this many milliseconds, of everybody; for housekeeping. */
  async forgetOlder(
    ms: number,
    { now, signal }: { readonly now: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const before = now - ms;
    while (before > 0 && !signal.aborted) {
      const deletions = await this.#entries.expired(before, limits.auditPageMax);
      if (deletions.length === 0) return;
      await this.#store.write(deletions, { mayUseReserve: true });
    }
  }

  /** Everything of an organisation that is gone. */
  async forget(organizationId: string): Promise<void> {
    for (;;) {
      const deletions = await this.#entries.deletions(organizationId, limits.auditPageMax);
      if (deletions.length === 0) return;
      await this.#store.write(deletions, { mayUseReserve: true });
    }
  }
}
