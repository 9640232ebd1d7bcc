import { Collections } from './collections.ts';
import { prefixRange, tables, uuid } from './keys.ts';
import type { Store } from './store.ts';
import { Table } from './table.ts';
import { Versions } from './versions.ts';

type TableName = keyof typeof tables;

/** How many rows there are of something, by the name of their table; what has none is left out. */
export type RowCounts = ReadonlyMap<string, number>;

/**
 * How rows show whose they are: `organisation`: their key begins with its id; `collection`, `document`: with one of
 * these; `anywhere`: in key or value, if at all. A new table needs a word here, so that none is forgotten.
 */
const ownership: Readonly<Record<TableName, 'organisation' | 'collection' | 'document' | 'anywhere'>> = {
  system: 'anywhere',
  organisations: 'anywhere',
  apiKeys: 'anywhere',
  apiKeyHash: 'anywhere',
  users: 'anywhere',
  userEmail: 'anywhere',
  sessions: 'anywhere',
  secondFactors: 'anywhere',
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
  // A person's; what is in it is sealed, and gone after a day.
  repeatableCalls: 'anywhere',
  buckets: 'organisation',
  usedLinks: 'anywhere',
  documents: 'collection',
  documentId: 'document',
  versions: 'collection',
  live: 'collection',
  changes: 'collection',
  failedDocuments: 'collection',
  content: 'document',
  jobs: 'anywhere',
  garbage: 'anywhere',
  // Which documents refer to a file is looked up by file: `Blobs.orphans`.
  blobReferences: 'anywhere',
  // What the installation notes of an organisation that is gone names it and stays.
  auditEntries: 'organisation',
  usage: 'organisation',
  billingAccounts: 'organisation',
  billingCustomers: 'anywhere',
  billingDue: 'organisation',
  billingCalls: 'organisation',
  billingEvents: 'anywhere',
  redemptions: 'organisation',
  redeemers: 'anywhere',
  billingGrants: 'organisation',
  usageReported: 'organisation',
  billingMarks: 'anywhere',
  departedCustomers: 'anywhere',
  marketplaceSignUps: 'anywhere',
  marketplaceAgreements: 'anywhere',
  marketplaceAgreementsOf: 'organisation',
  // Names a license and nobody's organisation: what was used is reported also after it is gone.
  marketplaceHours: 'anywhere',
};

const names = Object.keys(tables) as TableName[];

/** Rows that belong to an organisation or name it, collections and documents aside: those show whose they are no more. */
export async function countRowsOfOrganization(store: Store, organizationId: string): Promise<RowCounts> {
  const found = new Map<string, number>();
  const bytes = Buffer.from(uuid.encode(organizationId));
  for (const name of names) {
    const table = Uint8Array.of(tables[name]);
    let rows = 0;
    if (ownership[name] === 'organisation') {
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

const documentIdsTable = new Table<
  readonly [documentId: string],
  readonly [collectionId: string, path: string]
>(tables.documentId, [uuid]);

/** Rows of collections and documents that do not exist: what a deletion should have taken. Counts ids, not rows. */
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

/** Contents that neither a document nor a version names. */
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

/** The ids with which the keys of a table begin: jumps from the first key of one to the first of the next. */
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
