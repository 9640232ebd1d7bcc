import { limits } from '../core/limits.ts';
import { deleteBlobReference } from './blob-references.ts';
import type { Blobs } from './blobs.ts';
import { Contents } from './content.ts';
import { isContentKept } from './history-tables.ts';
import { tables, u53 } from './keys.ts';
import { ExpectationFailedError, type Store, type WriteOperation } from './store.ts';
import { Table } from './table.ts';
import { Versions } from './versions.ts';

/** A version that is no longer needed; deleted after `garbageDelayMs`, when no running query reads it. */
export interface Garbage {
  readonly collectionId: string;
  readonly version: number;
  /** Content of the version; null if another version shares it. */
  readonly content: GarbageContent | null;
}

export interface GarbageStores {
  readonly store: Store;
  readonly blobs: Blobs;
}

export interface GarbageContent {
  readonly documentId: string;
  /** Hash of the blob referenced by this document id, or null. */
  readonly rawHash: string | null;
}

const garbageTable = new Table<readonly [dueAt: number, version: number], Garbage>(tables.garbage, [
  u53,
  u53,
]);

/** Include this in the write that makes the version unneeded. `now`: milliseconds since the epoch. */
export function putGarbage(item: Garbage, now: number): WriteOperation {
  return garbageTable.put([now + limits.garbageDelayMs, item.version], item);
}

/** See `guardContent`. */
export interface ContentGuard {
  readonly begin: WriteOperation;
  readonly complete: readonly WriteOperation[];
}

/**
 * Content that is being written in pieces before its document exists. The first operation is for a write before the
 * first piece, and deletes the content at `dueAt` (milliseconds since the epoch); the others are for the write that
 * completes the document, which fails after that time.
 */
export function guardContent(item: Garbage, dueAt: number): ContentGuard {
  const key = [dueAt, item.version] as const;
  return {
    begin: garbageTable.put(key, item),
    complete: [
      garbageTable.expect(key, (known) => known !== undefined, 'the content written in pieces exists'),
      garbageTable.delete(key),
    ],
  };
}

/**
 * Deletes the garbage due at `now`, in bounded writes. May be interrupted at any point; the next call
 * continues. Resolves to the number of items deleted.
 */
export async function collectGarbage(
  { store, blobs }: GarbageStores,
  now: number,
  signal?: AbortSignal,
): Promise<number> {
  let done = 0;
  const versions = new Versions(store);
  const due = garbageTable.range(store, [], { lt: garbageTable.keyOf(now + 1) });
  await forEachConcurrently(due, signal, async ({ key, value }) => {
    const last = [
      garbageTable.expect(key, (known) => known !== undefined, 'the guarded document is not complete'),
      versions.delete(value.collectionId, value.version),
      garbageTable.delete(key),
    ];
    try {
      const content = await findUnusedContent(store, value);
      if (content === null) await store.write(last, { mayUseReserve: true });
      else await deleteContent({ store, blobs }, content, last);
      done += 1;
    } catch (error) {
      // A late write completed the document after the item was read; see `guardContent`.
      if (!(error instanceof ExpectationFailedError)) throw error;
    }
  });
  return done;
}

/** Returns the content of the item; null if it has none, or if a kept version needs it, which then becomes its owner. */
async function findUnusedContent(
  store: Store,
  { collectionId, content }: Garbage,
): Promise<GarbageContent | null> {
  if (content === null || (await isContentKept(store, { collectionId, documentId: content.documentId })))
    return null;
  return content;
}

/** Deletes the garbage entries of a collection whose versions and contents are all deleted. */
export async function deleteGarbageOf(store: Store, collectionId: string): Promise<void> {
  const found: WriteOperation[] = [];
  for await (const { key, value } of garbageTable.range(store, []))
    if (value.collectionId === collectionId) found.push(garbageTable.delete(key));
  for (let at = 0; at < found.length; at += limits.sweepOperationsMax)
    await store.write(found.slice(at, at + limits.sweepOperationsMax), { mayUseReserve: true });
}

/**
 * Processes several items concurrently, so that they share fsyncs. Returns false when stopped before the end.
 * After a failure no further item is started, and the first error is thrown once all running items have
 * ended.
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
 * Deletes all content of a document id in bounded writes; the final write includes the blob reference and
 * `last`. Then deletes the blob if it is unreferenced.
 */
export async function deleteContent(
  { store, blobs }: GarbageStores,
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
