import { prefixRange, tables, u53, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/** One audited action or attempt. Never contains a secret. */
export interface AuditEntry {
  readonly entryId: string;
  /** Null for an action outside any organization, such as a sign-in. */
  readonly organizationId: string | null;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** A user id, `key:` and the id of an API key, `administrator`, `system`, or null for an unknown actor. */
  readonly actor: string | null;
  /** Action name, such as `member.joined`. */
  readonly action: string;
  /** Target of the action: an id, an address or a name; null where the action has no target. */
  readonly target: string | null;
  /** Network address of the actor; null for the system itself. */
  readonly address: string | null;
  /** Changed fields with their values. */
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
}

/**
 * Position in the log of one organization: directly before the entry, or without `entryId` before all entries
 * of that time.
 */
export interface AuditCursor {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly entryId?: string;
}

export interface AuditRange {
  /** Only entries before this position. */
  readonly before: AuditCursor;
  /** Milliseconds since the epoch; older entries are excluded. */
  readonly since: number;
  readonly limit: number;
}

/** Owner id, used by no organization, for entries outside any organization. */
const installationId = '00000000-0000-0000-0000-000000000000';

const entriesTable = new Table<readonly [organizationId: string, at: number, entryId: string], AuditEntry>(
  tables.auditEntries,
  [uuid, u53, uuid],
);

/** Audit entries, ordered by organization and time. */
export class AuditEntries {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Returns entries, newest first. */
  async list(
    organizationId: string | null,
    { before: { at, entryId }, since, limit }: AuditRange,
  ): Promise<AuditEntry[]> {
    const owner = organizationId ?? installationId;
    const found: AuditEntry[] = [];
    const lt = entryId === undefined ? entriesTable.keyOf(owner, at) : entriesTable.keyOf(owner, at, entryId);
    const range = { gte: entriesTable.keyOf(owner, since), lt, reverse: true, limit };
    for await (const { value } of entriesTable.range(this.#store, [owner], range)) found.push(value);
    return found;
  }

  /** Deletes up to `limit` entries of an organization. Returns no operation when none are left. */
  async deleteByOrganization(organizationId: string, limit: number): Promise<WriteOperation[]> {
    const found: WriteOperation[] = [];
    for await (const key of entriesTable.keys(this.#store, [organizationId], { limit }))
      found.push({ type: 'delete', key });
    return found;
  }

  /**
   * Deletes up to `limit` entries of any owner older than `before` (milliseconds). Returns no operation when
   * none are left.
   */
  async deleteOlderThan(before: number, limit: number): Promise<WriteOperation[]> {
    const found: WriteOperation[] = [];
    for await (const owner of this.#listOwners()) {
      const range = { lt: entriesTable.keyOf(owner, before), limit: limit - found.length };
      for await (const key of entriesTable.keys(this.#store, [owner], range))
        found.push({ type: 'delete', key });
      if (found.length >= limit) break;
    }
    return found;
  }

  /** Lists the owners with entries; seeks from the first entry of one owner to the first of the next. */
  async *#listOwners(): AsyncGenerator<string, void, void> {
    let from = entriesTable.keyOf();
    for (;;) {
      let owner: string | null = null;
      for await (const key of entriesTable.keys(this.#store, [], { gte: from, limit: 1 }))
        [owner] = entriesTable.decodeKey(key);
      if (owner === null) return;
      yield owner;
      from = prefixRange(entriesTable.keyOf(owner)).lt;
    }
  }

  put(entry: AuditEntry): WriteOperation {
    return entriesTable.put([entry.organizationId ?? installationId, entry.at, entry.entryId], entry);
  }
}
