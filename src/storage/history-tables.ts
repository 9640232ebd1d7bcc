import { tables, text, u53, uuid } from './keys.ts';
import type { Store } from './store.ts';
import { bytesCodec, Table } from './table.ts';

/** A moment in the history of a collection. */
export interface HistoryMoment {
  /** Number of the last change before it; the numbers of a collection increase and have gaps. */
  readonly sequence: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A version that search no longer finds, and that is kept. */
export interface KeptVersion {
  readonly version: number;
  readonly documentId: string;
  readonly rawHash: string;
  readonly path: string;
  /** Raw bytes; 0 if its content was that of the next version, too. */
  readonly bytes: number;
}

/** A change of the versions that search finds. */
export interface VersionHistoryEntry {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The version that became searchable. */
  readonly add?: number;
  /** The version that it replaced, or that was deleted. */
  readonly removed?: KeptVersion;
}

type EntryKey = readonly [collectionId: string, sequence: number];

export const startsTable = new Table<readonly [collectionId: string], HistoryMoment>(tables.historyStarts, [
  uuid,
]);
export const entriesTable = new Table<EntryKey, VersionHistoryEntry>(tables.historyEntries, [uuid, u53]);
/** Entries with a removed version, by its path: for the erasure of a document. */
export const pathsTable = new Table<
  readonly [collectionId: string, path: string, sequence: number],
  Uint8Array
>(tables.historyPaths, [uuid, text, u53], bytesCodec);
/** The same by its document id: versions of one document share its content. */
export const contentsTable = new Table<
  readonly [collectionId: string, documentId: string, sequence: number],
  Uint8Array
>(tables.historyContents, [uuid, uuid, u53], bytesCodec);
export const keptBytesTable = new Table<readonly [collectionId: string], Uint8Array>(
  tables.historyBytes,
  [uuid],
  bytesCodec,
);

/** Whether a kept version that was removed after `sequence` (default: any) has this content. */
export async function isContentKept(
  store: Store,
  {
    collectionId,
    documentId,
    sequence = 0,
  }: { readonly collectionId: string; readonly documentId: string; readonly sequence?: number },
): Promise<boolean> {
  if (startsTable.get(store, [collectionId]) === undefined) return false;
  const range = { gt: contentsTable.keyOf(collectionId, documentId, sequence), limit: 1 };
  for await (const _ of contentsTable.keys(store, [collectionId, documentId], range)) return true;
  return false;
}
