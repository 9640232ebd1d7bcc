import { Collections } from './collections.ts';
import { documentIdsTable } from './documents.ts';
import { prefixRange, tables, uuid } from './keys.ts';
import type { Store } from './store.ts';
import { Versions } from './versions.ts';

type TableName = keyof typeof tables;

/** Number of rows (or ids) by table name; tables without any are left out. */
export type RowCounts = ReadonlyMap<string, number>;

/**
 * Where rows have the id of their owner: `organization`: at the start of the key; `collection`, `document`: a
 * collection or document id at the start of the key; `anywhere`: in key or value, if at all. The type
 * requires an entry for each new table.
 */
const ownership: Readonly<Record<TableName, 'organization' | 'collection' | 'document' | 'anywhere'>> = {
  system: 'anywhere',
  organisations: 'anywhere',
  apiKeys: 'anywhere',
  apiKeyHash: 'anywhere',
  users: 'anywhere',
  userEmail: 'anywhere',
  sessions: 'anywhere',
  secondFactors: 'anywhere',
  passwords: 'anywhere',
  passkeys: 'anywhere',
  passkeyCredentials: 'anywhere',
  userSessions: 'anywhere',
  members: 'anywhere',
  memberships: 'anywhere',
  invitations: 'anywhere',
  invitationEmail: 'anywhere',
  identities: 'anywhere',
  collections: 'anywhere',
  collectionId: 'anywhere',
  tombstones: 'anywhere',
  counts: 'collection',
  vectorStates: 'collection',
  queryDefaults: 'collection',
  apiKeyUse: 'anywhere',
  // Belongs to a user; the content is sealed and expires after a day.
  repeatableCalls: 'anywhere',
  buckets: 'organization',
  usedLinks: 'anywhere',
  deletions: 'anywhere',
  aliases: 'organization',
  documents: 'collection',
  documentId: 'document',
  versions: 'collection',
  live: 'collection',
  changes: 'collection',
  failedDocuments: 'collection',
  expirations: 'anywhere',
  historyStarts: 'collection',
  historyEntries: 'collection',
  historyPaths: 'collection',
  historyContents: 'collection',
  historyBytes: 'collection',
  content: 'document',
  jobs: 'anywhere',
  garbage: 'anywhere',
  // References are checked by file: `Blobs.countOrphans`.
  blobReferences: 'anywhere',
  // Entries of the installation about a deleted organization contain its id and are kept.
  auditEntries: 'organization',
  usage: 'organization',
  billingAccounts: 'organization',
  billingCustomers: 'anywhere',
  billingDue: 'organization',
  billingCalls: 'organization',
  billingEvents: 'anywhere',
  redemptions: 'organization',
  redeemers: 'anywhere',
  billingGrants: 'organization',
  usageReported: 'organization',
  billingMarks: 'anywhere',
  departedCustomers: 'anywhere',
  marketplaceSignUps: 'anywhere',
  marketplaceAgreements: 'anywhere',
  marketplaceAgreementsOf: 'organization',
  // Contains a license and no organization: usage is reported also after the organization is deleted.
  marketplaceHours: 'anywhere',
  changeFeeds: 'organization',
  changeCounters: 'organization',
  feedChanges: 'organization',
  sources: 'organization',
  sourceStates: 'organization',
  sourceItems: 'organization',
  webhooks: 'organization',
  webhookCursors: 'organization',
  webhookDeliveries: 'organization',
};

const names = Object.keys(tables) as TableName[];

/**
 * Counts rows that belong to an organization or contain its id, except those of collections and documents,
 * whose keys do not contain it.
 */
export async function countRowsOfOrganization(store: Store, organizationId: string): Promise<RowCounts> {
  const found = new Map<string, number>();
  const bytes = Buffer.from(uuid.encode(organizationId));
  for (const name of names) {
    const table = Uint8Array.of(tables[name]);
    let rows = 0;
    if (ownership[name] === 'organization') {
      const range = prefixRange(Buffer.concat([table, bytes]));
      for await (const _ of store.range({ ...range, values: false })) rows += 1;
    }
    if (ownership[name] === 'anywhere') {
      for await (const { key, value } of store.range(prefixRange(table)))
        if (containsId(key, bytes) || Buffer.from(value).includes(organizationId)) rows += 1;
    }
    if (rows > 0) found.set(name, rows);
  }
  return found;
}

function containsId(key: Uint8Array, id: Buffer): boolean {
  return (
    key.byteLength > id.byteLength && Buffer.from(key.buffer, key.byteOffset, key.byteLength).includes(id)
  );
}

/**
 * Counts the ids, not rows, of nonexistent collections and documents with remaining rows, which a deletion
 * should have removed.
 */
export async function countOrphanRows(store: Store): Promise<RowCounts> {
  const found = new Map<string, number>();
  const collections = new Collections(store);
  const deletedIds = new Set((await collections.listTombstones()).map(({ collectionId }) => collectionId));
  const isKnown = (id: string) => deletedIds.has(id) || collections.findById(id) !== undefined;
  const addCount = (name: TableName, ids: number) => {
    if (ids > 0) found.set(name, ids);
  };
  for (const name of names) {
    if (ownership[name] !== 'collection') continue;
    let unknown = 0;
    for await (const id of listIds(store, name)) if (!isKnown(id)) unknown += 1;
    addCount(name, unknown);
  }
  let orphanDocuments = 0;
  for await (const { value } of documentIdsTable.range(store, []))
    if (!isKnown(value[0])) orphanDocuments += 1;
  addCount('documentId', orphanDocuments);
  addCount('content', await countOrphanContents(store));
  return found;
}

/** Counts contents that no document or version references. */
async function countOrphanContents(store: Store): Promise<number> {
  const orphanIds = new Set<string>();
  for await (const id of listIds(store, 'content'))
    if (documentIdsTable.get(store, [id]) === undefined) orphanIds.add(id);
  if (orphanIds.size === 0) return 0;
  const versions = new Versions(store);
  for await (const collectionId of listIds(store, 'versions'))
    for await (const { documentId } of versions.list(collectionId)) orphanIds.delete(documentId);
  return orphanIds.size;
}

/** Lists the ids at the start of a table's keys; seeks from the first key of one id to the first of the next. */
async function* listIds(store: Store, name: TableName): AsyncGenerator<string, void, void> {
  const table = prefixRange(Uint8Array.of(tables[name]));
  let from = table.gte;
  for (;;) {
    let first: Uint8Array | null = null;
    for await (const { key } of store.range({ gte: from, lt: table.lt, limit: 1, values: false }))
      first = key;
    if (first === null) return;
    yield uuid.decode(first, 1)[0];
    from = prefixRange(first.subarray(0, 17)).lt;
  }
}
