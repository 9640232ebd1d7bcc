import { type DocumentRow, listCollections, listDocuments } from '../server/retrieval.ts';

/** Documents on the overview page, from the first collections. */

/** Collections that are searched for documents; each needs a request. */
const collectionsMax = 8;
export const recentMax = 5;
/** Above this number, the newest documents are not looked up: the server reads all documents to sort them. */
export const sortedDocumentsMax = 10_000;

export interface FoundDocument {
  readonly collection: string;
  readonly path: string;
}

export interface RecentDocument extends FoundDocument {
  readonly row: DocumentRow;
}

/** Returns one of the documents that failed; null without any in the first collections. */
export async function findFailedDocument(failed: number, abort: AbortSignal): Promise<FoundDocument | null> {
  if (failed === 0) return null;
  for (const collection of await firstCollections(abort)) {
    const { documents } = await listDocuments(
      { collection_name: collection, only_failed: true, limit: 1 },
      abort,
    );
    const [first] = documents;
    if (first !== undefined) return { collection, path: first.path };
  }
  return null;
}

/** Returns the documents that were added last, newest first; `all`: number of documents of the organization. */
export async function findRecentDocuments(
  all: number,
  abort: AbortSignal,
): Promise<readonly RecentDocument[]> {
  if (all === 0 || all > sortedDocumentsMax) return [];
  const request = { sort_by: 'created_at', descending: true, limit: recentMax } as const;
  const found = await Promise.all(
    (await firstCollections(abort)).map(async (collection) => {
      const { documents } = await listDocuments({ ...request, collection_name: collection }, abort);
      return documents.map((row) => ({ collection, path: row.path, row }));
    }),
  );
  return found
    .flat()
    .sort((a, b) => Date.parse(b.row.created_at) - Date.parse(a.row.created_at))
    .slice(0, recentMax);
}

async function firstCollections(abort: AbortSignal): Promise<readonly string[]> {
  return (await listCollections(abort)).collection_names.slice(0, collectionsMax);
}
