import { prefixRange, tables, u53, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/** One thing that somebody did or tried. Never holds a secret. */
export interface AuditEntry {
  readonly entryId: string;
  /** Null for what belongs to no organisation, such as a sign-in. */
  readonly organizationId: string | null;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Who: a user's id, `key:` and the id of an API key, `administrator`, `system`, or null for nobody known. */
  readonly actor: string | null;
  /** What, such as `member.joined`. */
  readonly action: string;
  /** To whom or what: an id, an address or a name; null where the action says it all. */
  readonly target: string | null;
  /** From where; null for the system itself. */
  readonly address: string | null;
  /** What changed, by field. */
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
}

/** A place in the log of one organisation: before the entry, or with a time alone before all entries of that time. */
export interface AuditCursor {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly entryId?: string;
}

export interface AuditRange {
  /** Only what lies before it. */
  readonly before: AuditCursor;
  /** Milliseconds since the epoch; nothing older. */
  readonly since: number;
  readonly limit: number;
}

/** Entries of no organisation lie under an id that none has. */
const installationId = '00000000-0000-0000-0000-000000000000';

const entriesTable = new Table<readonly [organizationId: string, at: number, entryId: string], AuditEntry>(
  tables.auditEntries,
  [uuid, u53, uuid],
);

/** Entries of one organisation after another, each in the order of time. */
export class AuditEntries {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Newest first. */
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

  /** Deletes up to `limit` entries of an organisation; none are left when it gives none. */
  async deleteByOrganization(organizationId: string, limit: number): Promise<WriteOperation[]> {
    const found: WriteOperation[] = [];
    for await (const key of entriesTable.keys(this.#store, [organizationId], { limit }))
      found.push({ type: 'delete', key });
    return found;
  }

  /** Deletes up to `limit` entries older than `before` (milliseconds), whoever's; none are left when it gives none. */
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

  /** Whoever has entries: jumps from the first of one to the first of the next. */
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
