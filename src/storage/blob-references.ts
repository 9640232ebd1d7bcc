import { hash, tables, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { bytesCodec, Table } from './table.ts';

const referencesTable = new Table<readonly [hash: string, documentId: string], Uint8Array>(
  tables.blobReferences,
  [hash, uuid],
  bytesCodec,
);
const emptyBytes = new Uint8Array(0);

/** Join this to the write that makes the document: from then on the blob stays. */
export function putBlobReference(blobHash: string, documentId: string): WriteOperation {
  return referencesTable.put([blobHash, documentId], emptyBytes);
}

/** After the write the blob may be collected. */
export function deleteBlobReference(blobHash: string, documentId: string): WriteOperation {
  return referencesTable.delete([blobHash, documentId]);
}

export async function isReferenced(store: Store, blobHash: string): Promise<boolean> {
  for await (const _ of referencesTable.keys(store, [blobHash], { limit: 1 })) return true;
  return false;
}
