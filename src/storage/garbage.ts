import { limits } from '../core/limits.ts';
import { deleteBlobReference } from './blob-references.ts';
import type { Blobs } from './blobs.ts';
import { Contents } from './content.ts';
import { tables, u53 } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';
import { Versions } from './versions.ts';

/** A version that no document needs any more; deleted a while later, when no running query reads it. */
export interface Garbage {
  readonly collectionId: string;
  readonly version: number;
  /** Its content, unless another version shares it. */
  readonly content: GarbageContent | null;
}

export interface GarbageContent {
  readonly documentId: string;
  /** The blob that this document id refers to, or null. */
  readonly rawHash: string | null;
}

const garbageTable = new Table<readonly [dueAt: number, version: number], Garbage>(tables.garbage, [
  u53,
  u53,
]);

/** Join this to the write that makes the version unneeded. `now`: milliseconds since the epoch. */
export function putGarbage(item: Garbage, now: number): WriteOperation {
  return garbageTable.put([now + limits.garbageDelayMs, item.version], item);
}

/** Deletes what is due at `now`, in bounded writes. Stopped anywhere, the next call goes on. Resolves to the items done. */
export async function collectGarbage(
  { store, blobs }: { readonly store: Store; readonly blobs: Blobs },
  now: number,
  signal?: AbortSignal,
): Promise<number> {
  let done = 0;
  const versions = new Versions(store);
  const due = garbageTable.range(store, [], { lt: garbageTable.keyOf(now + 1) });
  await forEachConcurrently(due, signal, async ({ key, value }) => {
    const last = [versions.delete(value.collectionId, value.version), garbageTable.delete(key)];
    if (value.content === null) await store.write(last, { mayUseReserve: true });
    else await deleteContent({ store, blobs }, value.content, last);
    done += 1;
  });
  return done;
}

/** Forgets what waits to be deleted of a collection whose versions and contents are all gone. */
export async function deleteGarbageOf(store: Store, collectionId: string): Promise<void> {
  const found: WriteOperation[] = [];
  for await (const { key, value } of garbageTable.range(store, []))
    if (value.collectionId === collectionId) found.push(garbageTable.delete(key));
  for (let at = 0; at < found.length; at += limits.sweepOperationsMax)
    await store.write(found.slice(at, at + limits.sweepOperationsMax), { mayUseReserve: true });
}

/**
 * Works on several items at once, so that they share fsyncs. False when it was stopped before the end. After a failure
 * no further item is begun, and the first error is thrown once everything that runs has ended.
 */
export async function forEachConcurrently<T>(
  items: AsyncIterable<T>,
  signal: AbortSignal | undefined,
  work: (item: T) => Promise<void>,
): Promise<boolean> {
  const errors: unknown[] = [];
  const start = (item: T) => work(item).catch((error: unknown) => void errors.push(error));
  let group: Promise<void>[] = [];
  try {
    for await (const item of items) {
      if (signal?.aborted === true || errors.length > 0) break;
      group.push(start(item));
      if (group.length < limits.sweepConcurrencyMax) continue;
      await Promise.all(group);
      group = [];
    }
  } finally {
    await Promise.all(group);
  }
  if (errors.length > 0) throw errors[0];
  return signal?.aborted !== true;
}

/**
 * Deletes everything of a document id in bounded writes, its blob's reference and `last` in the final one, then the
 * blob itself when nobody else refers to it.
 */
export async function deleteContent(
  { store, blobs }: { readonly store: Store; readonly blobs: Blobs },
  { documentId, rawHash }: GarbageContent,
  last: readonly WriteOperation[],
): Promise<void> {
  const contents = new Contents(store);
  const max = limits.sweepOperationsMax;
  let deletes = await contents.deleteAll(documentId, max);
  while (deletes.length === max) {
    await store.write(deletes, { mayUseReserve: true });
    deletes = await contents.deleteAll(documentId, max);
  }
  const dereference = rawHash === null ? [] : [deleteBlobReference(rawHash, documentId)];
  await store.write([...deletes, ...dereference, ...last], { mayUseReserve: true });
  if (rawHash !== null) await blobs.deleteIfUnreferenced(rawHash);
}
