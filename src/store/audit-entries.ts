import { tables, u53, uuid } from './keys.ts';
import type { Operation, Store } from './store.ts';
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

/** Entries of no organisation lie under an id that none has. */
const installationId = '00000000-0000-0000-0000-000000000000';

const entries = new Table<readonly [organizationId: string, at: number, entryId: string], AuditEntry>(
  tables.auditEntries,
  [uuid, u53, uuid],
);

/** Entries of one organisation after another, each in the order of time. */
export class AuditEntries {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Newest first, older than `before` (milliseconds), at most `limit`. */
  async list(
    organizationId: string | null,
    { before, limit }: { readonly before: number; readonly limit: number },
  ): Promise<AuditEntry[]> {
    const whose = organizationId ?? installationId;
    const found: AuditEntry[] = [];
    const range = { lt: entries.keyOf(whose, before), reverse: true, limit };
    for await (const { value } of entries.range(this.#store, [whose], range)) found.push(value);
    return found;
  }

  /** Deletes up to `limit` entries of an organisation; none are left when it gives none. */
  async deletions(organizationId: string, limit: number): Promise<Operation[]> {
    const found: Operation[] = [];
    for await (const key of entries.keys(this.#store, [organizationId], { limit }))
      found.push({ type: 'delete', key });
    return found;
  }

  put(entry: AuditEntry): Operation {
    return entries.put([entry.organizationId ?? installationId, entry.at, entry.entryId], entry);
  }
}
