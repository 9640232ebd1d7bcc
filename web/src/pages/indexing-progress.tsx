import { useLoad, usePoll } from '../server/load.ts';
import { getStatus } from '../server/retrieval.ts';
import { texts } from '../texts/en/overview.ts';
import { counted } from '../texts/format-text.ts';

/** Polls the number of documents of a collection that are being parsed or indexed; undefined while unknown. */
export function useIndexingCount(collection: string | null): number | undefined {
  const loadCount = async (abort: AbortSignal): Promise<number> => {
    if (collection === null) return 0;
    const status = await getStatus(collection, abort);
    return status.num_parsing_documents + status.num_indexing_documents;
  };
  const count = useLoad(loadCount, [collection]);
  usePoll(
    async (abort) => {
      const found = await loadCount(abort);
      count.replace(found);
      return found > 0 ? 'busy' : 'idle';
    },
    [collection],
  );
  return count.data;
}

/** Notice shown while documents are being indexed. */
export function IndexingNotice({ inProgress }: { readonly inProgress: number | undefined }) {
  if (inProgress === undefined || inProgress === 0) return null;
  return (
    <p class="note" role="status">
      {counted(texts.countDocumentsAreBeingIndexed, inProgress)}
    </p>
  );
}
