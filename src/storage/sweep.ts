import { limits } from '../core/limits.ts';
import { Collections } from './collections.ts';
import { Counts } from './counts.ts';
import { Documents } from './documents.ts';
import { deleteContent, deleteGarbageOf, forEachConcurrently, type GarbageStores } from './garbage.ts';
import { deleteJob } from './jobs.ts';
import { prefixRange, tables, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Versions } from './versions.ts';

/**
 * Deletes all keys of collections whose deletion was acknowledged at least `garbageDelayMs` before `now`
 * (milliseconds since the epoch), in bounded writes. May be interrupted at any point, even by a crash; the
 * next call continues, because the tombstone is deleted last. Resolves to the ids of the completely deleted
 * collections.
 */
export async function sweepCollections(
  context: GarbageStores,
  now: number,
  signal?: AbortSignal,
): Promise<string[]> {
  const collections = new Collections(context.store);
  const swept: string[] = [];
  for (const tombstone of await collections.listTombstones()) {
    if (tombstone.deletedAt + limits.garbageDelayMs > now) continue;
    if (!(await sweepCollection(context, tombstone.collectionId, signal))) break;
    swept.push(tombstone.collectionId);
  }
  return swept;
}

/** Tables whose rows of a collection are deleted without further work. */
const sweptTables = [
  tables.live,
  tables.changes,
  tables.historyStarts,
  tables.historyEntries,
  tables.historyPaths,
  tables.historyContents,
  tables.historyBytes,
];

/** Returns false when stopped before the end. */
async function sweepCollection(
  context: GarbageStores,
  collectionId: string,
  signal?: AbortSignal,
): Promise<boolean> {
  if (!(await sweepDocuments(context, collectionId, signal))) return false;
  if (!(await sweepVersions(context, collectionId, signal))) return false;
  for (const table of sweptTables) await sweepTable(context.store, table, collectionId);
  await deleteGarbageOf(context.store, collectionId);
  const last = [
    new Counts(context.store).delete(collectionId),
    ...new Collections(context.store).deleteTombstone(collectionId),
  ];
  await context.store.write(last, { mayUseReserve: true });
  return true;
}

function sweepDocuments(
  context: GarbageStores,
  collectionId: string,
  signal?: AbortSignal,
): Promise<boolean> {
  const documents = new Documents(context.store);
  const versions = new Versions(context.store);
  return forEachConcurrently(documents.list(collectionId), signal, (record) => {
    const { documentId, rawHash, version, live, liveDocumentId } = record;
    const last = [...documents.delete(record), versions.delete(collectionId, version), deleteJob(version)];
    // A live version of another document id is left to `sweepVersions`, which deletes its content.
    if (live !== null && liveDocumentId === documentId) last.push(versions.delete(collectionId, live));
    return deleteContent(context, { documentId, rawHash }, last);
  });
}

/** Versions reference contents that an overwrite was about to replace. */
function sweepVersions(context: GarbageStores, collectionId: string, signal?: AbortSignal): Promise<boolean> {
  const versions = new Versions(context.store);
  const documents = new Documents(context.store);
  return forEachConcurrently(versions.list(collectionId), signal, ({ version, documentId, rawHash }) => {
    const last = [versions.delete(collectionId, version), documents.deleteId(documentId), deleteJob(version)];
    return deleteContent(context, { documentId, rawHash }, last);
  });
}

async function sweepTable(store: Store, table: number, collectionId: string): Promise<void> {
  const range = prefixRange(Buffer.concat([Uint8Array.of(table), uuid.encode(collectionId)]));
  for (;;) {
    const deletes: WriteOperation[] = [];
    for await (const { key } of store.range({ ...range, limit: limits.sweepOperationsMax, values: false })) {
      deletes.push({ type: 'delete', key });
    }
    if (deletes.length === 0) return;
    await store.write(deletes, { mayUseReserve: true });
  }
}
