import { deleteInBatches } from './delete-in-batches.ts';
import { prefixRange } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';

/**
 * The layout of the data directory and of everything in the store. Raise it with every change that an older build would
 * misread or ignore: a directory of a newer format is refused.
 *
 * 1  the first layout
 * 2  API keys may have a restriction, which a build of format 1 would ignore and so let the key read everything;
 *    sign-ins under way are no longer stored
 */
export const currentFormat = 2;

/** Brings a directory from format `from` to `from + 1`. Must be repeatable: a crash may stop it anywhere. */
export interface Migration {
  readonly from: number;
  readonly migrate: (parts: { readonly store: Store; readonly path: string }) => Promise<void>;
}

/** Sign-in links, the newest of each address, and sign-ins at providers: of format 1, worth nothing after minutes. */
const tablesOfFormat1 = [0x1c, 0x1d, 0x1f] as const;

export const migrations: readonly Migration[] = [
  {
    from: 1,
    migrate: async ({ store }) => {
      for (const table of tablesOfFormat1)
        await deleteInBatches(store, (limit) => deleteFirstKeys(store, table, limit));
    },
  },
];

async function deleteFirstKeys(store: Store, table: number, limit: number): Promise<WriteOperation[]> {
  const found: WriteOperation[] = [];
  const range = { ...prefixRange(Uint8Array.of(table)), limit, values: false };
  for await (const { key } of store.range(range)) found.push({ type: 'delete', key });
  return found;
}
