import { limits } from '../base/limits.ts';
import { deleteBlobReference } from './blob-references.ts';
import type { Blobs } from './blobs.ts';
import { Contents } from './content.ts';
import { tables, u53, uuid } from './keys.ts';
import type { Operation, Store } from './store.ts';
import { Table } from './table.ts';

/** Content that no document needs any more; deleted a while later, when no running query reads it. */
export interface Garbage {
  readonly documentId: string;
  /** The blob that this document id refers to, or null. */
  readonly rawHash: string | null;
}

const garbage = new Table<readonly [dueAt: number, documentId: string], Garbage>(tables.garbage, [u53, uuid]);

/** Join this to the write that makes the content unneeded. `now`: milliseconds since the epoch. */
export function putGarbage(item: Garbage, now: number): Operation {
  return garbage.put([now + limits.garbageDelayMs, item.documentId], item);
}

/** Deletes what is due at `now`, in bounded writes. Stopped anywhere, the next call goes on. Resolves to the items done. */
export async function collectGarbage(
  { store, blobs }: { readonly store: Store; readonly blobs: Blobs },
  now: number,
  signal?: AbortSignal,
): Promise<number> {
  let done = 0;
  const due = garbage.range(store, [], { lt: garbage.keyOf(now + 1) });
  await inGroups(due, signal, async ({ key, value }) => {
    await deleteContent({ store, blobs }, value, [garbage.delete(key)]);
    done += 1;
  });
  return done;
}

/** Works on several items at once, so that they share fsyncs. False when it was stopped before the end. */
export async function inGroups<T>(
  items: AsyncIterable<T>,
  signal: AbortSignal | undefined,
  work: (item: T) => Promise<void>,
): Promise<boolean> {
  let group: Promise<void>[] = [];
  for await (const item of items) {
    if (signal?.aborted === true) break;
    group.push(work(item));
    if (group.length < limits.sweepConcurrencyMax) continue;
    await Promise.all(group);
    group = [];
  }
  await Promise.all(group);
  return signal?.aborted !== true;
}

/**
 * Deletes everything of a document id in bounded writes, its blob's reference and `last` in the final one, then the
 * blob itself when nobody else refers to it.
 */
export async function deleteContent(
  { store, blobs }: { readonly store: Store; readonly blobs: Blobs },
  { documentId, rawHash }: Garbage,
  last: readonly Operation[],
): Promise<void> {
  const contents = new Contents(store);
  const max = limits.sweepOperationsMax;
  let deletes = await contents.deletes(documentId, max);
  while (deletes.length === max) {
    await store.write(deletes, { mayUseReserve: true });
    deletes = await contents.deletes(documentId, max);
  }
  const dereference = rawHash === null ? [] : [deleteBlobReference(rawHash, documentId)];
  await store.write([...deletes, ...dereference, ...last], { mayUseReserve: true });
  if (rawHash !== null) await blobs.collect(rawHash);
}
