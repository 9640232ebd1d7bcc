import { createHash } from 'node:crypto';
import { limits } from '../core/limits.ts';
import { hash, tables } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { bytesCodec, Table } from './table.ts';

export type DeletedKind = 'api key' | 'organization' | 'passkey' | 'user';

const deletionsTable = new Table<readonly [id: string], Uint8Array>(tables.deletions, [hash], bytesCodec);
const emptyBytes = new Uint8Array(0);

/** Only a hash is stored, so that no ID of a deleted user or organization remains. */
function hashOf(kind: DeletedKind, id: string): string {
  return createHash('sha256').update(`${kind} ${id}`).digest('hex');
}

/** Include this in the write that deletes it, so that a restore of an older backup deletes it again. */
export function putDeletion(kind: DeletedKind, id: string): WriteOperation {
  return deletionsTable.put([hashOf(kind, id)], emptyBytes);
}

/** Include this in the write that creates something whose ID may have been used before. */
export function clearDeletion(kind: DeletedKind, id: string): WriteOperation {
  return deletionsTable.delete([hashOf(kind, id)]);
}

export function isDeleted(store: Store, kind: DeletedKind, id: string): boolean {
  return deletionsTable.get(store, [hashOf(kind, id)]) !== undefined;
}

/** Writes rows of the ledger, given by their keys. */
export async function writeDeletions(store: Store, keys: readonly Uint8Array[]): Promise<void> {
  const puts = keys.map((key): WriteOperation => ({ type: 'put', key, value: emptyBytes }));
  for (let at = 0; at < puts.length; at += limits.sweepOperationsMax)
    await store.write(puts.slice(at, at + limits.sweepOperationsMax));
}
