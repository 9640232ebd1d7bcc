import { tables, text, u53, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { bytesCodec, Table } from './table.ts';

/** A record with an optional expiry time, in milliseconds since the epoch. */
export interface ExpirationFields {
  readonly expiresAt?: number;
}

/** Whether the record has expired at `now`, and is to be treated as nonexistent. */
export function isExpired({ expiresAt }: ExpirationFields, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

/** Documents by expiry time, so that none has to be searched for. */
const expirationsTable = new Table<
  readonly [expiresAt: number, collectionId: string, path: string],
  Uint8Array
>(tables.expirations, [u53, uuid, text], bytesCodec);
const emptyBytes = new Uint8Array(0);

export interface Expiration {
  readonly expiresAt: number;
  readonly collectionId: string;
  readonly path: string;
}

interface ExpiringDocument extends ExpirationFields {
  readonly collectionId: string;
  readonly path: string;
}

/** Returns the operations that replace the entry of `before` by that of `after`; null for no document. */
export function changeExpiration(
  before: ExpiringDocument | null,
  after: ExpiringDocument | null,
): WriteOperation[] {
  if (before?.expiresAt === after?.expiresAt) return [];
  return [
    ...(before?.expiresAt === undefined
      ? []
      : [deleteExpiration({ ...before, expiresAt: before.expiresAt })]),
    ...(after?.expiresAt === undefined
      ? []
      : [expirationsTable.put([after.expiresAt, after.collectionId, after.path], emptyBytes)]),
  ];
}

export function deleteExpiration({ expiresAt, collectionId, path }: Expiration): WriteOperation {
  return expirationsTable.delete([expiresAt, collectionId, path]);
}

/** Returns up to `limit` documents that have expired at `now`, the oldest first. */
export async function listExpired(store: Store, now: number, limit: number): Promise<Expiration[]> {
  const found: Expiration[] = [];
  const range = { lt: expirationsTable.keyOf(now + 1), limit };
  for await (const key of expirationsTable.keys(store, [], range)) {
    const [expiresAt, collectionId, path] = expirationsTable.decodeKey(key);
    found.push({ expiresAt, collectionId, path });
  }
  return found;
}
