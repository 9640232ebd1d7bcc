import { deleteInBatches } from './delete-in-batches.ts';
import { prefixRange } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';

/**
 * Version of the layout of the data directory and of all data in the store. Must be increased with every change
 * that an older build would misread or must not ignore: a directory with a newer format is rejected.
 *
 * 1  the first layout
 * 2  API keys may have a restriction, which a build of format 1 would ignore, giving the key full access;
 *    sign-ins in progress are no longer stored
 * 3  documents may have an expiry time, after which a build of format 2 would still show them; terms of documents
 *    are packed, which an engine of format 2 cannot read
 * 4  metadata may have numbers, booleans and points, which a build of format 3 cannot read and whose index it would
 *    compare as strings; collections may keep replaced versions, whose list a build of format 3 would not continue
 * 5  records of documents, versions and chunks have no names of fields (`positional-codec.ts`), and a build of
 *    format 4 cannot read them
 */
export const currentFormat = 5;

/**
 * Migrates a directory from format `from` to `from + 1`. Must be idempotent: a crash may interrupt it at any
 * point.
 */
export interface Migration {
  readonly from: number;
  /** Effect, for `quarry upgrade --check`. */
  readonly description: string;
  /** Free space that the migration needs, as a share of the size of the store. */
  readonly freeShare: number;
  readonly migrate: (parts: { readonly store: Store; readonly path: string }) => Promise<void>;
}

/**
 * Tables of format 1: sign-in links, the newest of each address, and sign-ins at providers. Their rows expire
 * within minutes.
 */
const tablesOfFormat1 = [0x1c, 0x1d, 0x1f] as const;

export const migrations: readonly Migration[] = [
  {
    from: 1,
    description: 'sign-ins in progress are deleted (their links are valid for minutes)',
    // Deletions only; compactions rewrite a part of the store.
    freeShare: 0.1,
    migrate: async ({ store }) => {
      for (const table of tablesOfFormat1)
        await deleteInBatches(store, (limit) => deleteFirstKeys(store, table, limit));
    },
  },
  {
    from: 2,
    description:
      'new documents are stored with packed terms and may expire; stored documents stay as they are',
    freeShare: 0,
    migrate: async () => {},
  },
  {
    from: 3,
    description: 'new metadata may have numbers, booleans and points; stored documents stay as they are',
    freeShare: 0,
    migrate: async () => {},
  },
  {
    from: 4,
    description: 'new documents are stored in a shorter form; stored documents stay as they are',
    freeShare: 0,
    migrate: async () => {},
  },
];

async function deleteFirstKeys(store: Store, table: number, limit: number): Promise<WriteOperation[]> {
  const found: WriteOperation[] = [];
  const range = { ...prefixRange(Uint8Array.of(table)), limit, values: false };
  for await (const { key } of store.range(range)) found.push({ type: 'delete', key });
  return found;
}
