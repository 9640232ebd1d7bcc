import { limits } from '../base/limits.ts';
import type { Blobs } from './blobs.ts';
import { Collections } from './collections.ts';
import { Counts } from './counts.ts';
import { Documents } from './documents.ts';
import { deleteContent, forgetGarbage, inGroups } from './garbage.ts';
import { deleteJob } from './jobs.ts';
import { prefixRange, tables, uuid } from './keys.ts';
import type { Operation, Store } from './store.ts';
import { Versions } from './versions.ts';

interface SweepPlace {
  readonly store: Store;
  readonly blobs: Blobs;
}

/**
 * Deletes all keys of collections whose deletion was acknowledged at least `garbageDelayMs` before `now`
 * (milliseconds since the epoch), in bounded writes. Stopped anywhere, also by a crash, the next call goes on: the
 * tombstone goes last. Resolves to the ids of the collections that are gone completely.
 */
export async function sweepCollections(
  place: SweepPlace,
  now: number,
  signal?: AbortSignal,
): Promise<string[]> {
  const collections = new Collections(place.store);
  const swept: string[] = [];
  for (const tombstone of await collections.tombstones()) {
    if (tombstone.deletedAt + limits.garbageDelayMs > now) continue;
    if (!(await sweepCollection(place, tombstone.collectionId, signal))) break;
    swept.push(tombstone.collectionId);
  }
  return swept;
}

/** False when it was stopped before the end. */
async function sweepCollection(
  place: SweepPlace,
  collectionId: string,
  signal?: AbortSignal,
): Promise<boolean> {
  if (!(await sweepDocuments(place, collectionId, signal))) return false;
  if (!(await sweepVersions(place, collectionId, signal))) return false;
  for (const table of [tables.live, tables.changes]) await sweepTable(place.store, table, collectionId);
  await forgetGarbage(place.store, collectionId);
  const last = [
    new Counts(place.store).delete(collectionId),
    ...new Collections(place.store).forget(collectionId),
  ];
  await place.store.write(last, { mayUseReserve: true });
  return true;
}

function sweepDocuments(place: SweepPlace, collectionId: string, signal?: AbortSignal): Promise<boolean> {
  const documents = new Documents(place.store);
  const versions = new Versions(place.store);
  return inGroups(documents.list(collectionId), signal, (record) => {
    const { documentId, rawHash, version, live, liveDocumentId } = record;
    const last = [...documents.delete(record), versions.delete(collectionId, version), deleteJob(version)];
    // A live version of another document id stays for `sweepVersions`, which deletes that content.
    if (live !== null && liveDocumentId === documentId) last.push(versions.delete(collectionId, live));
    return deleteContent(place, { documentId, rawHash }, last);
  });
}

/** The versions know the contents that an overwrite was about to replace. */
function sweepVersions(place: SweepPlace, collectionId: string, signal?: AbortSignal): Promise<boolean> {
  const versions = new Versions(place.store);
  const documents = new Documents(place.store);
  return inGroups(versions.list(collectionId), signal, ({ version, documentId, rawHash }) => {
    const last = [versions.delete(collectionId, version), documents.forgetId(documentId), deleteJob(version)];
    return deleteContent(place, { documentId, rawHash }, last);
  });
}

async function sweepTable(store: Store, table: number, collectionId: string): Promise<void> {
  const range = prefixRange(Buffer.concat([Uint8Array.of(table), uuid.encode(collectionId)]));
  for (;;) {
    const deletes: Operation[] = [];
    for await (const { key } of store.range({ ...range, limit: limits.sweepOperationsMax, values: false })) {
      deletes.push({ type: 'delete', key });
    }
    if (deletes.length === 0) return;
    await store.write(deletes, { mayUseReserve: true });
  }
}
