import { hash, tables, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { bytesCodec, Table } from './table.ts';

const referencesTable = new Table<readonly [hash: string, documentId: string], Uint8Array>(
  tables.blobReferences,
  [hash, uuid],
  bytesCodec,
);
const emptyBytes = new Uint8Array(0);

/**
 * Returns the operation that adds a reference; include it in the write that creates the document, to keep the
 * blob.
 */
export function putBlobReference(blobHash: string, documentId: string): WriteOperation {
  return referencesTable.put([blobHash, documentId], emptyBytes);
}

/** Returns the operation that removes a reference; after the write the blob may be collected. */
export function deleteBlobReference(blobHash: string, documentId: string): WriteOperation {
  return referencesTable.delete([blobHash, documentId]);
}

export async function isReferenced(store: Store, blobHash: string): Promise<boolean> {
  for await (const _ of referencesTable.keys(store, [blobHash], { limit: 1 })) return true;
  return false;
}

/** Yields the hash of every referenced blob once. */
export async function* listReferencedBlobs(store: Store): AsyncGenerator<string, void, void> {
  let last = '';
  for await (const key of referencesTable.keys(store, [])) {
    const [blobHash] = referencesTable.decodeKey(key);
    if (blobHash !== last) yield blobHash;
    last = blobHash;
  }
}
