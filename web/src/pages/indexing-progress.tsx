import { formatCounted } from '../format/numbers.ts';
import { useLoad, usePoll } from '../server/load.ts';
import { getStatus } from '../server/retrieval.ts';

interface IndexingProgress {
  /** Documents that are being parsed or indexed. */
  readonly inProgress: number;
  readonly failed: number;
}

/** Polls the indexing progress of a collection; undefined while unknown. */
export function useIndexingProgress(collection: string | null): IndexingProgress | undefined {
  const loadProgress = async (abort: AbortSignal): Promise<IndexingProgress> => {
    if (collection === null) return { inProgress: 0, failed: 0 };
    const status = await getStatus(collection, abort);
    const inProgress = status.num_parsing_documents + status.num_indexing_documents;
    return { inProgress, failed: status.num_failed_documents };
  };
  const progress = useLoad(loadProgress, [collection]);
  usePoll(
    async (abort) => {
      const found = await loadProgress(abort);
      progress.replace(found);
      return found.inProgress > 0 ? 'busy' : 'idle';
    },
    [collection],
  );
  return progress.data;
}

/** Notice shown while documents are being indexed. */
export function IndexingNotice({ inProgress }: { readonly inProgress: number | undefined }) {
  if (inProgress === undefined || inProgress === 0) return null;
  return (
    <p class="note" role="status">
      {formatCounted(inProgress, 'document is', 'documents are')} being indexed and cannot be found yet.
    </p>
  );
}
